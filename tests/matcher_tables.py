"""Pairs (expected, actual) that each matcher must accept, reject, or leave open; `near` are one edit from an accept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Cases = list[tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The cases of one kind."""

    accepts: Cases
    rejects: Cases
    near: Cases
    open: Cases = field(default_factory=list)  # cannot_tell
    options: dict[str, Any] = field(default_factory=dict)


def each(expected: Any, *actuals: Any) -> Cases:
    """One expected value against several actual ones."""
    return [(expected, actual) for actual in actuals]


TABLES: dict[str, Table] = {
    "identifier": Table(
        accepts=[
            *each(
                "ABC123",
                "ABC123",
                "abc123",
                "A B C 1 2 3",
                "a-b-c-1-2-3",
                "A-BC123",
                "ABC.123",
                " ABC123 ",
                "A.B.C-123",
            ),
            *each("FAST99", "FAST-99", "fast 99", "F-A-S-T-9-9", "F A S T 99"),
            *each("K2", "K-2", "k2", "K 2"),
            *each("P-O-9-9-9", "PO999", "po-999", "P O 9 9 9"),
            *each("00123", "00123", "001-23"),
            *each("DELIV", "D-E-L-I-V", "D–E–L–I–V"),
            (123, "123"),
            ("123", 123),
        ],
        rejects=[
            *each("ABC123", "LHR", "", "123ABC", "ABC", "123", "ABCABC123123", ["ABC123"], True, {"id": "ABC123"}),
            *each("00123", "123", 123, "0123"),
            *each("P52", "P5", "P", "52", "P520"),
            *each("O0O", "OOO", "000", "0O0"),
            *each("A_1", "A1", "A/1"),
            *each("15", 1.5, -15, "1"),
            (1.5, "15"),
            (-15, "15"),
        ],
        near=each(
            "ABC123",
            "ABC12",
            "ABC1230",
            "ABC124",
            "ABD123",
            "BC123",
            "ABC113",
            "ABBC123",
            "ABC-12",
            "A B C 1 2 2",
            "4BC123",
        ),
    ),
    "number": Table(
        accepts=[
            *each(
                1200, 1200, 1200.0, "1200", "1,200", "1200.00", "twelve hundred", "one thousand two hundred", " 1200 "
            ),
            *each(25, 25.0, "25", "twenty five", "twenty-five", "25.0"),
            *each(0.3, 0.30000000000000004, "0.3", ".3", "zero point three"),
            *each("5", 5, "five"),
            *each(-4, "-4", "minus four", -4.0, "- 4", "-four", "\u22124"),
            *each("-5 thousand", -5000, "minus five thousand"),
            *each(-25, "-twenty five", "-twenty-five", "minus twenty-five"),
            *each(100, "a hundred", "one hundred"),
            *each(2_500_000, "2.5 million", "two million five hundred thousand", "2,500,000"),
            *each(115, "one hundred and fifteen", "one hundred fifteen"),
        ],
        rejects=[
            *each(
                1200, "twelve", "1 2 0 0", "1200 dollars", "about 1200", "", "12,00", [1200], {"value": 1200}, "1.2k"
            ),
            *each(1, True, "true", "first", "one one"),
            *each(0, False, "o", "none", ""),
            *each(20, 21, "twelve"),
            *each(100234, 104999, "100,243"),
            *each(1000, 1050, "ten hundred one"),
            *each(0.3, float("nan"), float("inf")),
            (float("nan"), float("nan")),
            *each(1999, "nineteen ninety nine"),
            *each(5000, "-5 thousand", "--5 thousand"),
            *each(25, "-twenty five", "- twenty five", "--25", "minus -25"),
            *each(5, "- 5", "--5", "5-", "-5", "- -5", "minus minus five"),
            *each(-5, "--5", "5-", "5 -"),
        ],
        near=each(1200, 120, 1201, 1300, 2200, "1,201", "120", "12000", "one thousand two", "1200.5", -1200, "12,000"),
        open=[("around ten", 10), ("many", "few")],
    ),
    "money": Table(
        accepts=[
            *each(
                1500,
                "$1,500",
                "1.5k",
                "fifteen hundred",
                "1500",
                1500.0,
                "one thousand five hundred dollars",
                "$1500.00",
            ),
            *each(1500, "1,500 USD", "USD 1,500", "US$1,500", "€1500", "1500 euros", "1.5 thousand", "1.5K"),
            *each("$1,500", 1500, "1500 dollars", "$1500", "1500 Canadian dollars"),
            *each(5000, "five thousand", "5 grand", "5k"),
            *each(19.99, "$19.99", "19.99", "nineteen dollars and ninety-nine cents"),
            *each(2_000_000, "2m", "$2 million", "2 million"),
            *each(-20, "-$20", "-20", "$-20", "minus twenty dollars", "- 20 USD"),
            *each("5.50 EUR", "5 euros and 50 cents", "five euros fifty cents", 5.5),
            *each(5.5, "$5 and 50 cents", "5 USD 50 cents"),
            *each(0.25, "twenty five cents", "twenty-five cents", "25 cents"),
            *each(0.5, "50 cents"),
            *each("$0.01", "1 cent", "one cent"),
        ],
        rejects=[
            *each(
                1500, "1.5", "$1.50", 15, "1500 or so", "one five zero zero", "", "a lot", [1500], True, "15k", "1,50,0"
            ),
            *each("€500", "$500", "500 yen", "£500"),
            *each("$500", "$9", "500 euros", "EUR 500"),
            *each(1000, 1050, 999.99),
            *each(25, "2.5", "25 cents"),
            *each("5.50 EUR", "5 dollars and 50 cents"),
            *each(20.05, "twenty five cents", "twenty and five cents"),
            *each(5.5, "5 and 50 cents", "5 dollars and -50 cents"),
            *each(50, "--50", "- -50", "-$-50", "minus -50", "50-"),
            *each(-50, "--50"),
            *each(500, "top 500", "500 try", "all 500", "TOP 500 dollars"),
            *each(5, "cup 5"),
        ],
        near=each(
            1500,
            "$1,501",
            "$1,50",
            "$1,5000",
            "1.6k",
            "1.5m",
            "$1500.01",
            "$2,500",
            150,
            "fifteen hundred one",
            "-1500",
        ),
        open=[("cheap", 5)],
    ),
    "currency": Table(
        accepts=[
            *each("USD", "USD", "usd", "US dollars", "american dollars", "US$", "United States dollars", "U.S. dollar"),
            *each("CAD", "Canadian dollars", "canadian dollar", "C$", "cad"),
            *each("EUR", "euro", "Euros", "€", "the euro"),
            *each("GBP", "British pounds", "£", "pounds sterling", "sterling"),
            *each("JPY", "yen", "Japanese yen"),
            *each("euros", "EUR", "euro"),
            *each("CHF", "Swiss francs"),
            *each("NGN", "naira"),
            *each("BRL", "reais", "Brazilian real"),
        ],
        rejects=[
            *each("CAD", "euros", "EUR", "US dollars", "", "Canada", 5, None, ["CAD"]),
            *each("EUR", "dollars", "$", "NGN", "pounds", "european"),
            *each("USD", "bitcoin", "usa", "yen", "Canadian dollars", "hundred dollars"),
            *each("JPY", "yuan", "renminbi", "CNY"),
            *each("MXN", "Philippine pesos", "rupees"),
        ],
        near=[
            *each("USD", "USDT", "US", "AUD", "UED", "USB"),
            *each("EUR", "EURO$", "EU", "EUA", "ERU"),
            *each("CAD", "CAB", "CA"),
        ],
        open=[
            *each("CAD", "dollars", "$", "bucks"),
            *each("USD", "dollars", "dollar"),
            *each("GBP", "pounds"),
            *each("NOK", "kroner"),
            *each("MXN", "pesos"),
            ("frobs", "EUR"),
        ],
    ),
    "boolean": Table(
        accepts=[
            *each(True, True, "true", "True", "yes", "YES", "on", "y", "1", 1, " yes ", "yeah", "yep"),
            *each(False, False, "false", "no", "off", "n", "0", 0, "No", "nope"),
            *each("yes", True, "true", "on"),
        ],
        rejects=[
            *each(True, False, "false", "no", "off", "0", 0, 2, "maybe", "", "allowed", "not true", [True]),
            *each(False, True, "true", "yes", "on", 1, "none", "", "null", -1, 0.5),
        ],
        near=[
            *each(True, "tru", "yess", "ye", "o", "truee", "trues", 11, "oon"),
            *each(False, "noo", "ofs", "00", "fals"),
        ],
        open=[("perhaps", True)],
    ),
    "enum": Table(
        options={"enum": ["driver_license", "passport", "id_card", "min_bedrooms", "max_price", "two-way", "A"]},
        accepts=[
            *each(
                "driver_license",
                "driver_license",
                "driver license",
                "Driver License",
                "DRIVER-LICENSE",
                " driver_license ",
                "driver  license",
            ),
            *each("id_card", "ID card", "id card", "id-card", "Id_Card"),
            *each("passport", "Passport", "PASSPORT", " passport"),
            *each("min_bedrooms", "min bedrooms", "Min_Bedrooms", "min-bedrooms"),
            *each("two-way", "two way", "two_way", "Two-Way"),
            *each("A", "a", " A "),
        ],
        rejects=[
            *each(
                "driver_license",
                "id_card",
                "passport",
                "license",
                "driver",
                "drivers_licence",
                "",
                5,
                True,
                ["driver_license"],
            ),
            *each("min_bedrooms", "bedrooms_min", "bedrooms", "max_price", "min"),
            *each("passport", "id_card", "pass port", "travel document", {}, 0),
            *each("A", "an", "A A"),
        ],
        near=[
            *each("passport", "passports", "passpor", "pasport", "passpord", "assport"),
            *each("id_card", "id_cart", "id_cards", "d_card", "id_car", "idcard"),
        ],
    ),
    "date": Table(
        accepts=[
            *each(
                "October 7th",
                "2026-10-07",
                "Oct 7",
                "7 October",
                "October 7",
                "the 7th of October",
                "2031-10-07",
                "oct. 7",
            ),
            *each(
                "2026-10-07",
                "October 7",
                "October seventh",
                "Oct 7, 2026",
                "7 Oct 2026",
                "Wednesday, October 7",
                "20261007",
            ),
            *each(
                "2026-06-03",
                "June third",
                "June 3rd, 2026",
                "2026/06/03",
                "2026-6-3",
                "june the third",
                "2026-06-03T00:00:00",
            ),
            *each("July 15", "2027-07-15", "July fifteenth", "15 July 2027"),
            *each("2027-03-22", "March 22", "March twenty-second", "22 March"),  # before today: the next one is in 2027
            *each("2026-04-06", "April 6", "today"),
            *each("2026-04-07", "tomorrow"),
            *each("2026-10-25", "10/25/2026", "25.10.2026", "25-10-26"),
            *each("2026-05-05", "5/5", "05/05/2026"),
        ],
        rejects=[
            *each(
                "October 7th",
                "2026-10-17",
                "2026-07-10",
                "October",
                "7",
                "",
                "10-07-7",
                7,
                True,
                ["October 7"],
                "07.10",
            ),
            *each("2026-10-07", "2027-10-07", "October 7, 2027", "November 7", "2026-10", "soon"),
            *each("2026-03-22", "March 22"),  # the next one is in 2027
            *each("2026-06-03", "June first", "June thirteenth", "June thirty", "tomorrow", "today"),
            *each("February 28", "February 30", "February 29", "2026-02-29"),
            *each("2026-10-07", "9/8", "Octember 7"),
        ],
        near=[
            *each("October 7", "October 8", "October 17", "Octobe 7x", "2026-10-06", "2026-11-07", "2026-10-27"),
            *each("2026-10-07", "2026-10-08", "2025-10-07", "2026-10-97", "2027-10-07", "2026-1-07", "2026-10-0"),
        ],
        open=[
            *each("October 7th", "10/07", "7/10", "10/07/2026", "07-10-2026", "next Wednesday", "Wednesday"),
            ("2026-10-07", "Monday, October 7"),
            ("some day", "2026-10-07"),
        ],
    ),
    "place": Table(
        accepts=[
            *each("Las Vegas", "Vegas", "las vegas", "LAS VEGAS", "Las  Vegas"),
            *each("5th Avenue", "5th Ave", "5th Ave.", "5th Av", "5TH AVE"),
            *each("12 Main Street", "12 Main St", "12 main st.", "12 Main Str"),
            *each("St. Louis", "Saint Louis", "St Louis"),
            *each("the University", "University", "Univ", "the university"),
            *each("New York", "NYC", "New York City", "new york"),
            *each("the gym", "gym", "The Gym"),
            *each("São Paulo", "sa\u0303o paulo", "SÃO PAULO"),
            *each("North Shore Road", "N Shore Rd", "N. Shore Road"),
            *each("San Francisco", "SF", "San Fran"),
            *each("Washington, D.C.", "Washington DC", "Washington"),
            *each("Milan", "Milan, Italy", "milan italy"),
            *each("Austin, Texas", "Austin", "Austin, TX", "Austin TX", "Austin, TX, USA", "austin, u.s.a."),
            *each("New York", "New York, NY", "New York City, New York", "NYC, USA"),
            *each("Springfield, IL", "Springfield, Illinois"),
        ],
        rejects=[
            *each("Milan", "Rome", "Milano", "", "Milan Rome", 5, True, ["Milan"], "MIL", "Italy"),
            *each("my house", "123 Main St, Anytown, AN 12345", "house of mine"),
            *each(
                "12 Main Street", "21 Main Street", "12 Main Road", "Main Street", "12 Main Saint", "12 Maine Street"
            ),
            *each("Vegas", "Vega", "Los Vegas"),
            *each("Paris", "Paris, Texas", "Paris TX", "Paris, Italy"),
            *each("Austin, Texas", "Austin, Minnesota", "Dallas, Texas", "Texas"),
            *each("Springfield, IL", "Springfield, Ohio"),
            *each("12 Main Street", "12 Main Street, Springfield"),
            *each("North Road", "South Road", "S Road"),
            *each("São Paulo", "Sao Tome"),
            *each("Saint Louis", "Street Louis"),
        ],
        near=[
            *each("Milan", "Mila", "Dilan", "Milann", "Milen"),
            *each("Austin", "Austen", "Austi", "Boston"),
            *each("5th Avenue", "6th Avenue", "5th Avenu", "55th Avenue"),
            *each("Paris", "Pari", "Parma"),
        ],
        open=[
            *each("Portland", "Portland, Maine", "Portland, USA"),
            ("Springfield, Illinois", "Springfield"),
            ("Springfield, Illinois", "Springfield, USA"),
        ],
    ),
    "text": Table(
        accepts=[
            *each("mechanical keyboards", "mechanical keyboard", "Mechanical Keyboards", "mechanical  keyboards"),
            *each("the gym", "gym", "The gym", "a gym"),
            *each("café", "cafe\u0301", "CAFÉ"),
            *each("T-shirt", "t shirt", "T-shirts"),
            *each("wireless headphones", "wireless headphone", "wireless headphones.", '"wireless headphones"'),
            *each("box", "boxes"),
            *each("keyboard", "keyboards", "Keyboards"),
            *each("Jones", "jones", "JONES"),
            *each("battery", "batteries"),
            *each("Ann Smith", "ann smith", " Ann  Smith "),
            *each("men's shoes", "mens shoes", "men’s shoe"),
            *each("a desk", "the desk", "desks"),
            (1200, "1200"),
            *each("size 10", "Size 10", "size 10."),
        ],
        rejects=[
            *each("desk", "chair", "", "desk lamp", "desktop", "standing desk", 5, True, ["desk"], {"q": "desk"}),
            *each("new_york", "new york"),
            *each("a b", "a_b", "ab"),
            *each("size 10", "size 100", "size ten", "10 size", "size 1"),
            *each("1.5", "15", "1 5", ".15"),
            *each("1,200", "1200", 1200),
            *each("new", "news"),
            *each("10", "10s"),
            *each("Martha Collins", "Martha Collin"),
            *each("Victor Brook", "Victor Brooks", "victor brooks"),
            *each("James", "Jame", "jame"),
            *each("glasses", "glass"),
            *each("shorts", "short"),
            *each("economics", "economic"),
        ],
        near=[
            *each("desk", "disk", "des", "deski", "desk5", "dusk"),
            *each("keyboard", "keyboar", "skeyboard", "keyboardx"),
            *each("size 10", "size 11", "size 1 0", "side 10"),
        ],
    ),
    "exact": Table(
        accepts=[
            *each("aB9", "aB9"),
            *each(25, 25, 25.0),
            *each(True, True),
            *each(False, False),
            *each([1, 2], [1, 2], [1.0, 2.0]),
            *each({"a": 1, "b": [True]}, {"b": [True], "a": 1}, {"a": 1.0, "b": [True]}),
            *each("", ""),
            *each(0, 0, 0.0, -0.0),
            *each([], []),
            *each({}, {}),
            *each("é", "é"),
            *each(" a", " a"),
            *each(1e300, 1e300),
            *each([[["x"]]], [[["x"]]]),
            *each("null", "null"),
            *each({"a": {"b": None}}, {"a": {"b": None}}),
        ],
        rejects=[
            *each("aB9", "AB9", "aB9 ", "ab9", 9, ["aB9"]),
            *each(25, "25", [25], 26),
            *each(True, 1, "true", "True"),
            *each(1, True),
            *each(0, False, "", "0"),
            *each([1, 2], [2, 1], [1], "12", [True, 2]),
            *each({"a": 1}, {"a": True}, {"a": 1, "b": 2}, {}),
            (float("nan"), float("nan")),
        ],
        near=each("aB9", "aB8", "bB9", "aB", "B9", "aB99", "a B9", "aC9", "aB9.", "AB9", "ab9"),
    ),
}
