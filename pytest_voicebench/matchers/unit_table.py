"""Units of measure and the words people use for them, with exact factors (SI; NIST SP 811)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: base amount = amount x `factor` + `offset`, in the base unit of its dimension."""

    name: str
    dimension: str
    factor: Decimal
    offset: Decimal = Decimal(0)

    def base(self, amount: Decimal) -> Decimal:
        """The amount in the base unit of the dimension."""
        return amount * self.factor + self.offset


_TABLE = """
    length meter=1:m,metre kilometer=1000:km,kilometre,klick
    length centimeter=0.01:cm,centimetre millimeter=0.001:mm,millimetre
    length mile=1609.344:mi yard=0.9144:yd foot=0.3048:ft,feet,',′ inch=0.0254:in,inches,",″ nautical_mile=1852:nmi
    length megameter=1000000:megametre
    mass kilogram=1:kg,kilo,kgs gram=0.001:g,gm milligram=0.000001:mg tonne=1000:t,metric_ton,metric_tonne
    mass pound=0.45359237:lb,lbs ounce=0.028349523125:oz stone=6.35029318:st short_ton=907.18474:ton,us_ton
    mass long_ton=1016.0469088:ton,imperial_ton
    volume liter=1:l,litre milliliter=0.001:ml,millilitre,cc centiliter=0.01:cl,centilitre
    volume us_gallon=3.785411784:gallon,gal imperial_gallon=4.54609:gallon,gal,uk_gallon
    volume us_pint=0.473176473:pint,pt imperial_pint=0.56826125:pint,pt,uk_pint us_quart=0.946352946:quart,qt
    volume imperial_quart=1.1365225:quart,qt,uk_quart us_cup=0.2365882365:cup metric_cup=0.25:cup
    volume us_fluid_ounce=0.0295735295625:fluid_ounce,fl_oz,oz,ounce imperial_fluid_ounce=0.0284130625:fluid_ounce,fl_oz
    volume us_tablespoon=0.01478676478125:tablespoon,tbsp metric_tablespoon=0.015:tablespoon,tbsp
    volume us_teaspoon=0.00492892159375:teaspoon,tsp metric_teaspoon=0.005:teaspoon,tsp
    volume megaliter=1000000:megalitre cubic_meter=1000:m³,m3,cubic_metre
    area square_meter=1:m²,m2,sqm,sq_m,square_metre square_foot=0.09290304:sq_ft,sqft,square_feet,ft²,ft2
    area hectare=10000:ha acre=4046.8564224 square_kilometer=1000000:km²,km2,square_kilometre
    area square_mile=2589988.110336:sq_mi square_inch=0.00064516:sq_in,square_inches
    speed meter_per_second=1:m/s,mps,metre_per_second knot=0.514444444444444444:kn,kt
    speed mile_per_hour=0.44704:mph,mi/h,miles_per_hour,miles_an_hour
    speed kilometer_per_hour=0.277777777777777778:km/h,kph,kmh,kilometers_per_hour,kilometres_per_hour
    data bit=0.125 kilobit=125 megabit=125000 gigabit=125000000 terabit=125000000000
    data byte=1:b kilobyte=1000:kb megabyte=1000000:mb,meg gigabyte=1000000000:gb,gig terabyte=1000000000000:tb
    data gibibyte=1073741824:gib mebibyte=1048576:mib gibibit=134217728 mebibit=131072
    angle degree=1:deg,°
    share percent=1:%,per_cent,pct
    power watt=1:w kilowatt=1000:kw horsepower=745.69987158227:hp
    energy joule=1:j kilojoule=1000:kj calorie=4.184:cal kilocalorie=4184:kcal kilowatt_hour=3600000:kwh
    pressure pascal=1:pa bar=100000 psi=6894.757293168
    count piece=1:pieces,pcs,items,item dozen=12
"""
_CASED_TABLE = """
    Kb=kilobit,kilobyte Mb=megabit,megabyte Gb=gigabit,gigabyte Tb=terabit,terabyte
    Mib=mebibit,mebibyte Gib=gibibit,gibibyte
    Mg=tonne,milligram ML=megaliter,milliliter Ml=megaliter,milliliter Mm=megameter,millimeter Cal=kilocalorie,calorie
"""
_TEMPERATURES = """
    celsius=1=273.15:°c,degree,°,c,degree_celsius,degrees_celsius,centigrade,degrees_c,degrees_centigrade
    fahrenheit=0.555555555555555555555556=255.372222222222222222222222:°f,degree,°,f,degree_fahrenheit,degrees_fahrenheit,degrees_f
    kelvin=1=0:k
"""

UNITS: dict[str, Unit] = {}
_WORDS: dict[str, tuple[Unit, ...]] = {}


def _add(unit: Unit, words: str) -> None:
    UNITS[unit.name] = unit
    own = {unit.name.replace("_", " "), *(word.replace("_", " ") for word in words.split(",") if word)}
    for word in own:
        _WORDS[word] = (*_WORDS.get(word, ()), unit)


for _line in _TABLE.strip().splitlines():
    _dimension, *_entries = _line.split()
    for _entry in _entries:
        _head, _, _forms = _entry.partition(":")
        _name, _factor = _head.split("=")
        _add(Unit(_name, _dimension, Decimal(_factor)), _forms)
for _entry in _TEMPERATURES.split():
    _head, _, _forms = _entry.partition(":")
    _name, _factor, _offset = _head.split("=")
    _add(Unit(_name, "temperature", Decimal(_factor), Decimal(_offset)), _forms)

_CASED = {
    word: tuple(UNITS[name] for name in names.split(","))
    for word, _, names in (entry.partition("=") for entry in _CASED_TABLE.split())
}
"""Symbols that another case makes another unit: the one that is written, and the one that people may mean by it."""


def units_named(word: str) -> tuple[Unit, ...]:
    """The units that a word may name, in any case and number; none where it names none.

    A symbol that only its case tells from another one names both: `Mb` is megabits, but may be meant for megabytes.
    """
    symbol = word.strip().rstrip(".")
    cased = _CASED.get(symbol) or _CASED.get(symbol.removesuffix("s"))
    if cased:
        return cased
    folded = " ".join(word.casefold().split()).rstrip(".")
    for form in (folded, folded.removesuffix("s"), folded.removesuffix("es")):
        if form in _WORDS:
            return _WORDS[form]
    return ()
