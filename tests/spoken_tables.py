"""Pairs for the kinds of things people say and spell: times, lengths, amounts, numbers of phones and cards, names."""

from __future__ import annotations

from matcher_table import Table, each

SPOKEN: dict[str, Table] = {
    "time": Table(
        accepts=[
            *each("15:30", "3:30 PM", "3:30pm", "half past three in the afternoon", "15:30:00", "3.30 p.m.", "1530"),
            *each("15:30", "three thirty pm", "3:30 this afternoon", "2026-06-03T15:30:00", "15h30", "fifteen thirty"),
            *each("9 am", "09:00", "nine o'clock in the morning", "9:00 AM", "nine a.m.", "0900 hours", "at 9 am"),
            *each("12:00", "noon", "12 pm", "twelve noon", "midday"),
            *each("00:00", "midnight", "12 am", "24:00"),
            *each("16:45", "quarter to five pm", "a quarter to five in the afternoon", "four forty-five PM"),
            *each("7:05 pm", "seven oh five pm", "five past seven in the evening", "19:05"),
            *each("10 pm", "ten at night", "22:00", "10 o'clock tonight"),
            *each("half past three", "15:30", "3:30 am", "3:30"),
            *each("3 pm EST", "15:00 est"),
            *each("14:00", "fourteen hundred hours", "14 hundred", "1400 hours"),
            *each("9 am", "oh nine hundred", "zero nine hundred hours"),
        ],
        rejects=[
            *each("15:30", "3:30 am", "03:30", "15:03", "4:30 pm", "half past two pm", "", "25:30", "15:60"),
            *each("15:30", 15.5, True, ["15:30"], "tomorrow", "$15.30", "three pm", "quarter past three pm"),
            *each("noon", "midnight", "12 am", "1 pm", "11:59"),
            *each("9 am", "9 pm", "21:00", "nine fifteen am", "19:00"),
            *each("half past three", "half past four", "3:45", "15:00"),
            *each("3 pm EST", "4 pm PST"),
        ],
        near=each(
            "15:30", "15:31", "15:20", "14:30", "16:30", "5:30 pm", "3:30 a.m.", "13:30", "15:38", "3:50 pm", "15:3"
        ),
        open=[
            *each("15:30", "3:30", "half past three", "three thirty", "in the afternoon", "now", "half four"),
            *each("3 pm EST", "3 pm", "3 pm PST"),
            ("whenever", "15:30"),
        ],
    ),
    "duration": Table(
        accepts=[
            *each(
                "90 minutes", "an hour and a half", "1.5 hours", "1h30", "1h 30m", "PT1H30M", "one hour thirty minutes"
            ),
            *each(
                "90 minutes",
                "one and a half hours",
                "5400 seconds",
                "90 mins",
                "ninety minutes",
                "1 hour and 30 minutes",
            ),
            *each("30 minutes", "half an hour", "a half hour", "0.5 h", "thirty min", "30m"),
            *each("two weeks", "14 days", "a fortnight", "P2W", "P14D"),
            *each("a year", "12 months", "one year", "P1Y", "4 quarters"),
            *each("45 minutes", "three quarters of an hour", "45 min."),
            *each("1,500 seconds", "25 minutes", "1500 s"),
            *each("a couple of days", "two days", "48 hours"),
            *each("15 minutes", "a quarter of an hour", "quarter of an hour"),
            *each("1 hour, 5 minutes", "65 minutes"),
        ],
        rejects=[
            *each("90 minutes", "90 seconds", "9 minutes", "one hour", "an hour and a quarter", "900 minutes", ""),
            *each("90 minutes", "90 hours", "two hours", True, ["90 minutes"], "1h31", "PT90S", "-90 minutes", "soon"),
            *each("30 minutes", "half a day", "half an hour and a half", "three minutes", "30 s"),
            *each("two weeks", "two months", "12 days", "two years"),
            *each("a year", "10 months", "2 years"),
            *each("1 month", "1 day", "40 days"),
            *each("5 days", "5 km", "day five"),
        ],
        near=[
            *each("90 minutes", "91 minutes", "80 minutes", "9 minutes", "90 minute s x", "190 minutes", "90 hours"),
            *each("1h30", "1h31", "2h30", "1h3", "1m30", "11h30"),
        ],
        open=[
            *each("90 minutes", 90, "90", "1:30", "a while", "about 90 minutes"),
            *each("1 month", "30 days", "4 weeks", "31 days"),
            *each("a few days", "3 days"),
        ],
    ),
    "quantity": Table(
        accepts=[
            *each("5 km", "5 kilometers", "5000 m", "five kilometres", "5km", "5.0 km", "5,000 meters", "500000 cm"),
            *each("37 °C", "98.6 °F", "37 degrees celsius", "37C", "98.6 degrees Fahrenheit", "310.15 K"),
            *each(
                "6 feet 2 inches",
                "six foot two",
                "6'2\"",
                "74 inches",
                "6 ft 2 in",
                "6 ft 2",
                "six feet and two inches",
            ),
            *each("2 pounds", "32 ounces", "two lbs", "2 lb", "2 pounds 0 ounces"),
            *each("1 mile", "1609.344 m", "a mile", "1760 yards", "5280 feet"),
            *each("3/4 cup", "0.75 cups", "¾ cup"),
            *each("1 1/2 pounds", "1.5 lb", "1½ pounds", "24 ounces"),
            *each("half a mile", "1/2 mile", "0.5 miles", "half mile"),
            *each("two and a half liters", "2.5 l", "2500 ml", "2.5 litres"),
            *each("50%", "50 percent", "fifty per cent"),
            *each("a dozen", "12 items"),
            *each("2 gallons", "two gallons", "2 gal"),
            *each("36 km/h", "10 m/s"),
            *each("5 MB", "5 mb", "5 megabytes", "40 megabits"),
            *each("5 Mb", "5 Mb", "5 megabits", "5 Mbs"),
            *each("5 mg", "5 MG", "5 milligrams"),
        ],
        rejects=[
            *each("5 km", "5 miles", "5 m", "50 km", "5 kg", "3 miles", "", "km", True, ["5 km"], "-5 km", "5 km/h"),
            *each("37 °C", "37 °F", "37 K", "98.7 °F", "36 °C"),
            *each("6 feet 2 inches", "62 inches", "6'3\"", "2 feet 6 inches", "six foot"),
            *each("2 pounds", "2 kg", "2 ounces", "two dollars"),
            *each("2 gallons", "3 gallons", "2 pints", "2 liters"),
            *each("50%", "5%", "50 people"),
            *each("5 MB", "5 megabits", "6 Mb", "5 GB"),
            *each("5 mg", "6 Mg", "5 tonnes"),
        ],
        near=[
            *each("5 km", "6 km", "5 cm", "5 mm", "55 km", "4 km", "5.1 km", "0.5 km", "5 m"),
            *each("74 inches", "75 inches", "7 inches", "64 inches"),
        ],
        open=[
            *each("5 km", 5, "5", "five"),
            *each("2 gallons", "7.570823568 liters", "9.09218 l"),
            *each("1 ton", "907.18474 kg"),
            ("some", "5 km"),
            *each("20 C", "20 degrees", "20°"),
            *each("5 MB", "5 Mb", "5Mbs", "40 Mb"),  # megabits
            *each("5 mg", "5 Mg"),
            *each("100 cal", "100 Cal"),
            *each("5 ml", "5 ML"),
        ],
    ),
    "phone": Table(
        accepts=[
            *each("555-123-4567", "5551234567", "(555) 123-4567", "555.123.4567", "+1 555 123 4567", "1-555-123-4567"),
            *each("555-123-4567", "five five five one two three four five six seven", 5551234567, "tel:555-123-4567"),
            *each(
                "555-123-4567",
                "triple five one two three four five six seven",
                "555 twelve thirty four five sixty seven",
            ),
            *each(
                "+44 20 7946 0958", "0044 20 7946 0958", "+442079460958", "+44 (0)20 7946 0958", "011 44 20 7946 0958"
            ),
            *each("+44 20 7946 0958", "plus four four two oh seven nine four six oh nine five eight"),
            *each("1-800-555-0100", "one eight hundred five five five oh one double oh", "800 555 0100"),
            *each("555-123-4567 ext. 89", "5551234567 x89", "555-123-4567 extension eight nine", "+15551234567#89"),
            *each("911", "nine one one", "9-1-1", 911),
            *each("020 7946 0958", "02079460958", "oh two oh seven nine four six oh nine five eight"),
        ],
        rejects=[
            *each("555-123-4567", "555-123-4576", "123-4567", "", "5551234567 ext 5", "my number"),
            *each("555-123-4567", True, ["555-123-4567"], -5551234567, "$5551234567", "555-123-456", 555.1234567),
            *each("+44 20 7946 0958", "+1 20 7946 0958", "+49 20 7946 0958", "+44 20 7946 0959", "7946 0958"),
            *each("555-123-4567 ext. 89", "555-123-4567", "555-123-4567 ext 98"),
            *each("911", "912", "9111", "99", "nine eleven one"),
            *each("1-800-555-0100", "1-888-555-0100", "one eight hundred five five five oh one oh"),
        ],
        near=each(
            "555-123-4567",
            "555-123-4568",
            "555-123-467",
            "655-123-4567",
            "555-124-4567",
            "5551234-4567",
            "555-1234-567 8",
            "55-123-4567",
            "555-123-4067",
            "+2 555 123 4567",
            "double five one two three four five six seven",
        ),
        open=[
            *each("+44 20 7946 0958", "020 7946 0958", "20 7946 0958"),
            ("ask me", "5551234567"),
            ("555-123-4567", "+44 555 123 4567"),
        ],
    ),
    "card": Table(
        accepts=[
            *each("4242 4242 4242 4242", "4242424242424242", "4242-4242-4242-4242", 4242424242424242),
            *each(
                "4242 4242 4242 4242", " ".join(["four two"] * 8), " ".join(["forty two"] * 8), "4242, 4242, 4242, 4242"
            ),
            *each("5555 5555 5555 4444", "triple five five triple five five triple five five four four four four"),
            *each(
                "5555 5555 5555 4444", "5555555555554444", "quadruple five quadruple five quadruple five quadruple four"
            ),
            *each(
                "3782 822463 10005",
                "378282246310005",
                "3782-822463-10005",
                "three seven eight two 822463 one triple oh five",
            ),
            *each(
                "4242",
                "ending in 4242",
                "**** **** **** 4242",
                "xxxx-4242",
                "last four 4242",
                "four two four two",
                4242,
            ),
            *each("4242", "card ending in forty two forty two", "the last 4 digits are 4242", "•••• 4242"),
            *each("ending in 0005", "0005", "triple zero five"),
        ],
        rejects=[
            *each("4242 4242 4242 4242", "4242 4242 4242 4243", "424242424242", "", True, ["4242424242424242"], "4243"),
            *each(
                "4242 4242 4242 4242", "4242 4242 4242 42424242", "2424 2424 2424 2424", "ending in 2424", 4.242, -4242
            ),
            *each("4242", "2442", "42424", "424", "ending in 4241", "$4242", "the card", "42/42"),
            *each("3782 822463 10005", "3782 822463 1005", "3782 822463 10006", "ending in 0006"),
            *each("ending in 0005", "5", "005", 5),
        ],
        near=each(
            "4242 4242 4242 4242",
            "4242 4242 4242 424",
            "5242 4242 4242 4242",
            "4242 4342 4242 4242",
            "4242 4242 4242 42421",
            "4242 4242 4242 4224",
            "4242 242 4242 4242",
            "4242 4242 4442 4242",
            "4242 4242 4242 4202",
            "4142 4242 4242 4242",
            "44242 4242 4242 4242",
        ),
        open=[
            *each("4242 4242 4242 4242", "ending in 4242", 4242),
            *each("4242", "4242 4242 4242 4242"),
            ("my card", 4242),
        ],
    ),
    "email": Table(
        accepts=[
            *each("ada.lovelace@example.com", "Ada.Lovelace@Example.com", "ada dot lovelace at example dot com"),
            *each("ada.lovelace@example.com", "<ada.lovelace@example.com>", "mailto:ada.lovelace@example.com"),
            *each("ada.lovelace@example.com", "a d a dot lovelace at example dot com", "ada.lovelace @ example.com"),
            *each("ada.lovelace@example.com", "ada . lovelace at example . com", "Ada dot Lovelace at example.com."),
            *each(
                "ada_l@example.com", "ada underscore l at example dot com", "ADA_L@EXAMPLE.COM", "ada _ l@example.com"
            ),
            *each("a-b@c-d.org", "a dash b at c hyphen d dot org", "A-B@C-D.ORG", "a minus b at c dash d dot org"),
            *each("ada+list@example.co.uk", "ada plus list at example dot co dot uk", "ada + list at example.co.uk"),
            *each(
                "ada22@example.com", "ada22 at example dot com", "a d a 2 2 at example dot com", "ada 22@example.com"
            ),
            *each("jo@x.io", "j o at x dot i o", "jo at x.io"),
        ],
        rejects=[
            *each("ada.lovelace@example.com", "adalovelace@example.com", "ada.lovelace@example.org", "", 5, True),
            *each(
                "ada.lovelace@example.com",
                ["ada.lovelace@example.com"],
                "ada.lovelace",
                "example.com",
                "lovelace@example.com",
            ),
            *each(
                "ada.lovelace@example.com", "ada.lovelace@mail.example.com", "ada-lovelace@example.com", "ada lovelace"
            ),
            *each(
                "ada.lovelace@example.com",
                "ada.lovelace@@example.com",
                "ada.lovelace@example",
                "ada at example dot com",
            ),
            *each("ada_l@example.com", "ada.l@example.com", "adal@example.com", "ada underscore m at example dot com"),
            *each(
                "ada22@example.com", "ada2@example.com", "ada 23 at example dot com", "ada two three at example dot com"
            ),
        ],
        near=each(
            "ada.lovelace@example.com",
            "ada.lovelace@example.co",
            "ada.lovelac@example.com",
            "ada.lovelace@exemple.com",
            "ada.lovelacee@example.com",
            "ada.loveiace@example.com",
            "ada_lovelace@example.com",
            "da.lovelace@example.com",
            "ada.lovelace@example.con",
            "ada.lovelace@examples.com",
            "ada..lovelace@example.com",
            "ada.lovelace2@example.com",
        ),
        open=[
            *each("ada22@example.com", "ada double two at example dot com", "ada twenty two at example dot com"),
            *each("adatwo@example.com", "ada two at example dot com"),
            ("her address", "ada@example.com"),
        ],
    ),
    "person": Table(
        accepts=[
            *each(
                "Ada Lovelace", "ada lovelace", "Lovelace, Ada", "Ms. Ada Lovelace", " Ada  Lovelace ", "ADA LOVELACE"
            ),
            *each("José Álvarez", "Jose Alvarez", "jose\u0301 alvarez", "Álvarez, José"),
            *each("Anne-Marie O'Brien", "Anne Marie O'Brien", "anne marie obrien", "Anne-Marie O\u2019Brien"),
            *each("Jürgen Müller", "Jurgen Muller", "Juergen Mueller", "JÜRGEN MÜLLER"),
            *each("Dr. Maria Santos", "Maria Santos", "doctor maria santos", "Dr Maria Santos"),
            *each("Ian McDonald", "Ian Mc Donald", "ian mcdonald"),
            *each("Jon Smith", "J-O-N Smith", "J O N Smith", "Jon S-M-I-T-H"),
            *each("Sammy Davis Jr.", "Sammy Davis Jr", "Sammy Davis, Junior", "Davis, Sammy, Jr."),
            *each("Juan de la Cruz", "Juan De La Cruz", "Juan Delacruz"),
        ],
        rejects=[
            *each(
                "Ada Lovelace",
                "Ada",
                "Lovelace",
                "Ada Love",
                "",
                5,
                True,
                ["Ada Lovelace"],
                "Eda Lovelace",
                "Lovelace Ada",
            ),
            *each("Victor Brook", "Victor Brooks", "Vincent Brook", "Brook", "Victor", "Victor Brook Street 5"),
            *each("Jon Smith", "Jon Smyth", "Ron Smith", "J-O-H-N Smith"),
            *each("José Álvarez", "José Alvarado", "Jesús Álvarez"),
            *each("Anna Lee", "Ann Alee", "Anna Lea", "Hannah Lee"),
            *each("Sammy Davis Jr.", "Sammy Davis Sr.", "Sammy Davies Jr."),
        ],
        near=each(
            "Ada Lovelace",
            "Ada Lovelac",
            "Ida Lovelace",
            "Ada Lovelacee",
            "Ada Loveless",
            "Adam Lovelace",
            "Ad Lovelace",
            "Ada Lovelance",
            "Ada Lovelase",
            "Ada Lovilace",
            "Eda Lovelace",
            "Ada Lovlace",
        ),
        open=[
            *each("Robert Smith", "Bob Smith", "R. Smith", "Robert J. Smith", "Rob Smith"),
            *each("Robert John Smith", "Robert Smith", "Robert J. Smith"),
            *each("Sammy Davis Jr.", "Sammy Davis"),
        ],
    ),
}
