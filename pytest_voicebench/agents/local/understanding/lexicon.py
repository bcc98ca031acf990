"""General English: groups of words that mean about the same, and the closed classes of small words."""

from __future__ import annotations

import functools

from pytest_voicebench.agents.local.understanding.wording import word_set, words_of
from pytest_voicebench.agents.local.understanding.words import stem

_GROUPS = """
search find look show browse hunt seek explore
book reserve reservation seat passenger
flight fly plane airfare flew airplane trip travel vacation
track trace where status whereabouts locate arrive ship
order package parcel shipment delivery purchase
exchange convert swap conversion worth
currency money cash
apartment flat condo rental rent place studio home lease housing house loft
bedroom bed
commute drive ride journey distance far
benefit perk reward advantage extra
card
bill invoice
autopay automatic automatically autopayment
identity passport licence license permit visa id
document certificate doc
update change set modify switch adjust raise lower edit correct renew fix increase bump replace
filter criteria criterion preference setting narrow only
cart basket bag trolley
product item merchandise
add throw toss
account checking savings
pay payment paid
price cost rent fee total budget amount
cancel call-off
hotel accommodation lodging
restaurant eat dine dinner
weather forecast rain temperature
message text sms
email mail
appointment meeting
remind reminder
transfer send wire
balance
refund reimburse
return
schedule calendar
doctor physician
car vehicle
ticket
table
""".strip().splitlines()

GROUP_OF: dict[str, tuple[int, ...]] = {}
for _number, _line in enumerate(_GROUPS):
    for _word in _line.split():
        _key = stem(_word)
        if _number not in GROUP_OF.get(_key, ()):
            GROUP_OF[_key] = (*GROUP_OF.get(_key, ()), _number)

SEARCH_GROUP = GROUP_OF[stem("search")][0]
PRICE_GROUP = GROUP_OF[stem("fee")][0]

_SAID_FOR = """
driving drive car drove automobile
transit bus train subway metro tram underground rail transport transportation
walking walk foot walked
cycling bicycling bike bicycle cycle biking
license licence
id identity identification
passport passports
permit visa
electricity electric electrical power
phone mobile cell cellphone telephone
internet wifi broadband wi-fi
savings saving
joint shared
parking garage
laundry washer washing-machine
furnished furniture
pets pet pet-friendly
balcony terrace
neighborhood neighbourhood area district
bedrooms bedroom rooms
bathrooms bathroom bath baths
yes true on
no false off
cheap economy coach
""".strip().splitlines()

SAID_FOR = {stem(line.split()[0]): tuple(line.split()) for line in _SAID_FOR}
"""What one may say for a declared value: words, or several joined by hyphens."""

PRICE_WORDS = ("budget", "rent", "cost", "price")

DETERMINERS = word_set("""
    a an the my our your his her their its this that these those some any another one's new
    """)
PREPOSITIONS = word_set("""
    to in from at on for with by of into under over below above between near around within about until till through
    per via without toward towards inside out off up than as onto against before after during since starting
    """)
CONJUNCTIONS = word_set("""
    and or but so because if when while then also plus that which who unless since once
    """)
AUXILIARIES = word_set("""
    is are was were be been being am do does did have has had can could will would shall should may might must isn't
    aren't don't doesn't didn't can't couldn't won't wouldn't it's that's what's where's here's i'm i'd i've i'll
    you're you've we're we'd we've we'll they're let's there's gonna wanna gotta supposed
    """)
PRONOUNS = word_set("""
    i me you he him she we us they them it what where who how why which there here everything something anything
    nothing itself themselves himself herself myself mine yours ours
    """)
VERBS = word_set("""
    sell placed grab throw carry
    want need get got find look see show tell give make take put add set go going know like think start help check
    search book reserve track update change convert come came goes pay paid use using used please please work works
    say says said keep cost costs calculate figure try trying move moving see looking try mean means spend want
    wants let leave leaving depart departing arrive arriving fly flying drive walk bike cycle run runs call calls
    called ordered bought buy charge charged stay staying live living travel traveling happen happens switch pull
    pulled come comes compare deduct debit draw drawn thinking wondering hoping planning trying talking having
    getting going doing making saying needing wanting asking got gets happy interested
    """)
ADVERBS = word_set("""
    please just really actually maybe perhaps only now today tomorrow tonight instead too well right okay ok yeah
    yes no not sorry wait rather still already again first second third next last ever even almost exactly
    automatically every each once twice soon later yet probably currently thanks thank hi hello hey alright also
    enough much many lot more less most least tops either both all there somewhere anywhere anything else though
    quickly possible pretty kind sort anyhow anyway secondly thirdly lastly finally firstly preferably seriously
    honestly basically
    """)
WEEKDAYS = words_of("monday tuesday wednesday thursday friday saturday sunday")
STOPS = PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | PRONOUNS | VERBS | ADVERBS | frozenset(WEEKDAYS)


@functools.cache
def concepts(word: str) -> tuple[str, ...]:
    """Names of what a word may mean: its groups, or its own stem when it is in none."""
    base = stem(word)
    groups = GROUP_OF.get(base)
    return tuple(f"#{g}" for g in groups) if groups else (base,)
