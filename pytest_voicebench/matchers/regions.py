"""Which region a well-known city lies in: `Austin, TX` is Austin, `Paris, Texas` is not Paris."""

from __future__ import annotations

_STATE_CODES = """
    al=alabama ak=alaska az=arizona ar=arkansas ca=california co=colorado ct=connecticut de=delaware fl=florida
    ga=georgia hi=hawaii id=idaho il=illinois in=indiana ia=iowa ks=kansas ky=kentucky la=louisiana me=maine
    md=maryland ma=massachusetts mi=michigan mn=minnesota ms=mississippi mo=missouri mt=montana ne=nebraska nv=nevada
    nh=new_hampshire nj=new_jersey nm=new_mexico ny=new_york nc=north_carolina nd=north_dakota oh=ohio ok=oklahoma
    or=oregon pa=pennsylvania ri=rhode_island sc=south_carolina sd=south_dakota tn=tennessee tx=texas ut=utah vt=vermont
    va=virginia wa=washington wv=west_virginia wi=wisconsin wy=wyoming dc=district_of_columbia
"""
_COUNTRY_NAMES = """
    united_states united_kingdom france italy spain germany japan china india mexico canada australia brazil portugal
    greece ireland netherlands austria switzerland argentina egypt turkey thailand south_korea norway sweden denmark
    finland belgium poland czech_republic hungary united_arab_emirates singapore south_africa nigeria kenya morocco
    new_zealand israel peru chile colombia iceland indonesia malaysia vietnam philippines georgia
"""
_OTHER_NAMES = """
    usa=united_states us=united_states america=united_states u.s=united_states u.s.a=united_states uk=united_kingdom
    england=united_kingdom scotland=united_kingdom britain=united_kingdom great_britain=united_kingdom
    the_netherlands=netherlands holland=netherlands czechia=czech_republic korea=south_korea uae=united_arab_emirates
    washington_state=washington d.c=district_of_columbia
"""
_CITIES = """
    new_york=new_york los_angeles=california chicago=illinois houston=texas phoenix=arizona philadelphia=pennsylvania
    san_antonio=texas san_diego=california dallas=texas austin=texas san_jose=california san_francisco=california
    seattle=washington denver=colorado boston=massachusetts las_vegas=nevada detroit=michigan memphis=tennessee
    baltimore=maryland milwaukee=wisconsin sacramento=california atlanta=georgia miami=florida oakland=california
    minneapolis=minnesota tampa=florida new_orleans=louisiana honolulu=hawaii orlando=florida pittsburgh=pennsylvania
    cincinnati=ohio anchorage=alaska nashville=tennessee salt_lake_city=utah washington=district_of_columbia
    paris=france nice=france lyon=france rome=italy milan=italy venice=italy florence=italy naples=italy madrid=spain
    barcelona=spain seville=spain berlin=germany munich=germany hamburg=germany frankfurt=germany london=united_kingdom
    manchester=united_kingdom edinburgh=united_kingdom dublin=ireland lisbon=portugal porto=portugal athens=greece
    amsterdam=netherlands brussels=belgium vienna=austria zurich=switzerland geneva=switzerland oslo=norway
    stockholm=sweden copenhagen=denmark helsinki=finland warsaw=poland prague=czech_republic budapest=hungary
    istanbul=turkey cairo=egypt tokyo=japan kyoto=japan osaka=japan beijing=china shanghai=china seoul=south_korea
    bangkok=thailand delhi=india mumbai=india sydney=australia melbourne=australia toronto=canada vancouver=canada
    montreal=canada mexico_city=mexico cancun=mexico buenos_aires=argentina rio_de_janeiro=brazil
    dubai=united_arab_emirates cape_town=south_africa lagos=nigeria nairobi=kenya auckland=new_zealand
    tel_aviv=israel lima=peru reykjavik=iceland
"""


def _table(text: str) -> dict[str, str]:
    pairs = (entry.replace("_", " ").split("=") for entry in text.split())
    return dict(pairs)


_CODES = _table(_STATE_CODES)
STATES = frozenset(_CODES.values())
_NAMES = {name: name for name in STATES} | _CODES | _table(_OTHER_NAMES)
_NAMES |= {name.replace("_", " "): name.replace("_", " ") for name in _COUNTRY_NAMES.split()}
_HOMES = _table(_CITIES)


def region(name: str) -> str | None:
    """The full name of a state or country, given its name, code or nickname in folded words; None where unknown."""
    return _NAMES.get(name) or _NAMES.get(name.replace(".", ""))


def home(city: str) -> frozenset[str]:
    """The regions that a city lies in (state and country, or country), as a traveller means it; empty where unknown."""
    found = _HOMES.get(city)
    if found is None:
        return frozenset()
    return frozenset({found, "united states"}) if found in STATES else frozenset({found})
