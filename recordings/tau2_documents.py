"""tau2-bench's documents as its own loader completes them: field order, kinds of numbers, nulls.

Its tools answer with what it loaded, not with what its files say, so a world made of the files has
to go through the same gate. Unknown fields are dropped there, and so here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter


class _Name(BaseModel):
    first_name: str
    last_name: str


class _Address(BaseModel):
    address1: str
    address2: str | None = None
    city: str
    country: str
    state: str
    zip: str


# --- retail ---


class _Variant(BaseModel):
    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class _Product(BaseModel):
    name: str
    product_id: str
    variants: dict[str, _Variant]


class _CreditCard(BaseModel):
    source: str
    id: str
    brand: str
    last_four: str


class _GiftCard(BaseModel):
    source: str
    id: str
    balance: float


class _Paypal(BaseModel):
    source: str
    id: str


class _Shopper(BaseModel):
    user_id: str
    name: _Name
    address: _Address
    email: str
    payment_methods: dict[str, _CreditCard | _GiftCard | _Paypal]
    orders: list[str]


class _Item(BaseModel):
    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class _Parcel(BaseModel):
    tracking_id: list[str]
    item_ids: list[str]


class _OrderPayment(BaseModel):
    transaction_type: str
    amount: float
    payment_method_id: str


class _Order(BaseModel):
    order_id: str
    user_id: str
    address: _Address
    items: list[_Item]
    status: str
    fulfillments: list[_Parcel]
    payment_history: list[_OrderPayment]
    cancel_reason: str | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


# --- airline ---


class _Available(BaseModel):
    status: str
    available_seats: dict[str, int]
    prices: dict[str, int]


class _Landed(BaseModel):
    status: str
    actual_departure_time_est: str
    actual_arrival_time_est: str


class _Flying(BaseModel):
    status: str
    actual_departure_time_est: str
    estimated_arrival_time_est: str


class _Scheduled(BaseModel):
    status: str
    estimated_departure_time_est: str
    estimated_arrival_time_est: str


class _Cancelled(BaseModel):
    status: str


class _Flight(BaseModel):
    flight_number: str
    origin: str
    destination: str
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, _Available | _Landed | _Flying | _Scheduled | _Cancelled]


class _Person(BaseModel):
    first_name: str
    last_name: str
    dob: str


class _Voucher(BaseModel):
    source: str
    id: str
    amount: float


class _Traveller(BaseModel):
    user_id: str
    name: _Name
    address: _Address
    email: str
    dob: str
    payment_methods: dict[str, _CreditCard | _Voucher]
    saved_passengers: list[_Person]
    membership: str
    reservations: list[str]


class _Segment(BaseModel):
    flight_number: str
    origin: str
    destination: str
    date: str
    price: int


class _Payment(BaseModel):
    payment_id: str
    amount: int


class _Reservation(BaseModel):
    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: str
    cabin: str
    flights: list[_Segment]
    passengers: list[_Person]
    payment_history: list[_Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: str
    status: str | None = None


DATABASES: Final[Mapping[str, Mapping[str, type[BaseModel]]]] = {
    "retail": {"products": _Product, "users": _Shopper, "orders": _Order},
    "airline": {"flights": _Flight, "users": _Traveller, "reservations": _Reservation},
}
"""The sections of each domain's database, and what a document of each has in it."""


def completed(section: Mapping[str, Any], model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The documents of one section as their loader leaves them.

    Raises:
        ValidationError: A document lacks a field, or one has the wrong kind.
    """
    adapter = TypeAdapter(dict[str, model])  # type: ignore[valid-type]
    dumped: dict[str, dict[str, Any]] = adapter.dump_python(adapter.validate_python(section))
    return dumped
