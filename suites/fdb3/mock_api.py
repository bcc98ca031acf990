"""Answers of the 12 mock tools: instant, the same for the same arguments and state; writing tools change the state."""

from __future__ import annotations

import hashlib
from typing import Any

Arguments = dict[str, Any]
State = dict[str, Any]
Answer = dict[str, Any]

USD_PER_UNIT = {
    "USD": 1.0,
    "EUR": 1.08,
    "GBP": 1.27,
    "CHF": 1.12,
    "JPY": 0.0067,
    "CAD": 0.73,
    "AUD": 0.66,
    "NZD": 0.61,
    "SEK": 0.095,
    "NOK": 0.094,
    "DKK": 0.145,
    "MXN": 0.058,
    "INR": 0.012,
    "BRL": 0.2,
    "ZAR": 0.054,
    "SGD": 0.74,
    "KRW": 0.00075,
    "THB": 0.028,
    "PLN": 0.25,
    "TRY": 0.031,
}

CARDS = {
    "gold": {"annual_fee": 120.0, "cash_back_percent": 1.5, "foreign_fee_percent": 1.0, "lounge_access": False},
    "platinum": {"annual_fee": 480.0, "cash_back_percent": 2.0, "foreign_fee_percent": 0.0, "lounge_access": True},
    "travel": {"annual_fee": 95.0, "cash_back_percent": 1.0, "foreign_fee_percent": 0.0, "lounge_access": True},
    "cash_back": {"annual_fee": 0.0, "cash_back_percent": 3.0, "foreign_fee_percent": 2.5, "lounge_access": False},
    "student": {"annual_fee": 0.0, "cash_back_percent": 1.0, "foreign_fee_percent": 2.5, "lounge_access": False},
    "business": {"annual_fee": 150.0, "cash_back_percent": 1.5, "foreign_fee_percent": 0.0, "lounge_access": True},
}

STREETS = ("Alder Street", "Birch Lane", "Cedar Avenue", "Juniper Road", "Maple Drive", "Walnut Court")
CARRIERS = ("Parcel North", "Swift Post", "Blue Van")
PLACES = ("in the warehouse", "on its way", "at the local depot", "out for delivery")


def pick(size: int, *parts: object) -> int:
    """A number below `size` that depends on nothing but the parts, read without regard to case."""
    text = "\n".join(str(part).strip().lower() for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big") % size


def search_flights(arguments: Arguments, state: State) -> Answer:
    """Two flights, the cheaper one first."""
    destination, date = arguments["destination"], arguments["date"]
    base = 80 + pick(400, destination, date)
    flights = [
        {
            "flight_id": f"FL{100 + pick(899, destination, date, number)}",
            "destination": destination,
            "date": date,
            "price": float(base + 35 * number),
        }
        for number in range(2)
    ]
    return {"status": "success", "flights": flights}


def book_flight(arguments: Arguments, state: State) -> Answer:
    """A confirmation; the booking is kept."""
    booking = {
        "passenger_name": arguments["passenger_name"],
        "flight_id": arguments.get("flight_id") or f"FL{100 + pick(899, 'on hold', arguments['passenger_name'])}",
    }
    state.setdefault("bookings", []).append(booking)
    return {"status": "success", "confirmation": f"C{1000 + pick(9000, *booking.values())}", **booking}


def update_identity_doc(arguments: Arguments, state: State) -> Answer:
    """The stored document, its number shown in part."""
    state.setdefault("documents", {})[arguments["doc_type"]] = arguments["doc_number"]
    return {"status": "success", "doc_type": arguments["doc_type"], "ends_in": str(arguments["doc_number"])[-3:]}


def get_card_benefits(arguments: Arguments, state: State) -> Answer:
    """The card's terms."""
    return {"status": "success", "card_type": arguments["card_type"], **CARDS[arguments["card_type"]]}


def get_exchange_rate(arguments: Arguments, state: State) -> Answer:
    """The converted amount, rounded to cents. A currency that is not listed counts as a US dollar."""
    source, target = str(arguments["from_currency"]).upper(), str(arguments["to_currency"]).upper()
    rate = USD_PER_UNIT.get(source, 1.0) / USD_PER_UNIT.get(target, 1.0)
    return {
        "status": "success",
        "from_currency": source,
        "to_currency": target,
        "rate": round(rate, 4),
        "converted_amount": round(arguments["amount"] * rate, 2),
    }


def modify_autopay(arguments: Arguments, state: State) -> Answer:
    """The new source; kept by bill."""
    state.setdefault("autopay", {})[arguments["bill_type"]] = arguments["source_account"]
    return {"status": "success", "bill_type": arguments["bill_type"], "source_account": arguments["source_account"]}


def search_apartments(arguments: Arguments, state: State) -> Answer:
    """Two apartments within the budget, the cheaper one first."""
    city, bedrooms, limit = arguments["city"], arguments["bedrooms"], arguments["max_price"]
    apartments = [
        {
            "apartment_id": f"A{100 + pick(899, city, bedrooms, number)}",
            "address": f"{10 + pick(80, city, bedrooms, number)} {STREETS[pick(len(STREETS), city, number)]}, {city}",
            "bedrooms": bedrooms,
            "rent": round(float(limit) * (0.84 + 0.1 * number), 2),
        }
        for number in range(2)
    ]
    return {"status": "success", "apartments": apartments}


def calculate_commute(arguments: Arguments, state: State) -> Answer:
    """Minutes and kilometres; the way is as long in all modes."""
    mode = arguments.get("mode", "driving")
    kilometres = 2 + pick(22, arguments["origin_address"], arguments["destination_address"])
    minutes_per_kilometre = {"driving": 2, "transit": 3, "cycling": 4, "walking": 12}[mode]
    return {"status": "success", "mode": mode, "minutes": kilometres * minutes_per_kilometre, "kilometres": kilometres}


def update_search_filter(arguments: Arguments, state: State) -> Answer:
    """All filters as they are now."""
    filters = state.setdefault("filters", {})
    filters[arguments["filter_name"]] = arguments["value"]
    return {"status": "success", "filters": dict(filters)}


def track_order(arguments: Arguments, state: State) -> Answer:
    """Where the order is, and the one product in it."""
    order = arguments["order_id"]
    return {
        "status": "success",
        "order_id": order,
        "delivery": PLACES[pick(len(PLACES), order)],
        "carrier": CARRIERS[pick(len(CARRIERS), order)],
        "days_left": 1 + pick(5, order),
        "items": [{"product_id": f"P{100 + pick(899, order)}", "quantity": 1}],
    }


def search_products(arguments: Arguments, state: State) -> Answer:
    """Two products within the limit, the cheaper one first."""
    query, limit = arguments["query"], arguments.get("max_price")
    ceiling = float(limit) if limit else 40.0 + pick(160, query)
    products = [
        {
            "product_id": f"P{100 + pick(899, query, number)}",
            "name": f"{query} {('basic', 'plus')[number]}",
            "price": round(ceiling * (0.7 + 0.2 * number), 2),
        }
        for number in range(2)
    ]
    return {"status": "success", "products": products}


def add_to_cart(arguments: Arguments, state: State) -> Answer:
    """The cart as it is now."""
    cart = state.setdefault("cart", [])
    cart.append({"product_id": arguments["product_id"], "quantity": arguments.get("quantity", 1)})
    return {"status": "success", "cart": list(cart)}
