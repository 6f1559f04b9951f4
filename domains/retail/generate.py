"""Makes the shop's world from a seed: ``python -m passhat.domains.retail.generate``.

The words come from ``data/retail/sources/*.yaml``, everything else from one random generator, so
the same seed gives the same bytes in ``data/retail/world/``.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from ..seeding import Draft, Row, Rows, data_folder, plain_letters, source_words, write_rows
from .tables import CANCEL_REASONS, METADATA

SEED = 20260316
NOW = "2026-03-16T10:00:00"
DESCRIPTION = "An invented online shop for household, outdoor and electronic goods in the USA."
CUSTOMERS = 520
NAMESAKES = 24
AVAILABLE = 0.57

_FOLDER = data_folder("retail")


def make_world(seed: int = SEED) -> Rows:
    """All rows of the shop, by table name, each table sorted by its primary key."""
    shop = _Shop(seed)
    shop.stock_products()
    shop.sign_up_customers()
    shop.take_orders()
    return shop.finished(METADATA)


def write_world(folder: Path = _FOLDER) -> None:
    """Write ``world.json`` and one ``world/<table>.jsonl`` a table."""
    about = {"now": NOW, "seed": SEED, "description": DESCRIPTION}
    write_rows(folder, make_world(), about)


class _Shop(Draft):
    """The shop while it is being made up; ``rows`` grows table by table."""

    def fresh(self, digits: int, prefix: str = "") -> str:
        """A number nobody has yet; all prefixes share one pool, so digits alone are unique too."""
        while True:
            number = str(self.random.randrange(10 ** (digits - 1), 10**digits))
            if number not in self.taken:
                self.taken.add(number)
                return prefix + number

    # --- what is sold ---------------------------------------------------------------------------

    def stock_products(self) -> None:
        for entry in source_words("retail", "catalogue"):
            product_id = self.fresh(10)
            self.add("products", product_id=product_id, name=entry["name"])
            self._stock_variants(product_id, entry)

    def _stock_variants(self, product_id: str, entry: dict[str, Any]) -> None:
        """Ten to fourteen combinations of options, no two of them at the same price."""
        choices = list(product(*(values.items() for values in entry["options"].values())))
        variants = self.random.sample(choices, min(len(choices), self.random.randint(10, 14)))
        available = [self.chance(AVAILABLE) for _ in variants]
        available[:2] = [True, True]
        prices: set[int] = set()
        for chosen, in_stock in zip(variants, available, strict=True):
            item_id = self.fresh(10)
            price_cents = self._price_cents(entry["price"] + sum(extra for _, extra in chosen))
            while price_cents in prices:
                price_cents += 1
            prices.add(price_cents)
            self.add(
                "variants",
                item_id=item_id,
                product_id=product_id,
                price_cents=price_cents,
                available=int(in_stock),
            )
            for position, (name, (value, _)) in enumerate(
                zip(entry["options"], chosen, strict=True)
            ):
                self.add(
                    "variant_options", item_id=item_id, position=position, name=name, value=value
                )

    def _price_cents(self, dollars: int) -> int:
        """A shop price within four per cent of so many dollars."""
        return round(dollars * 100 * self.random.uniform(0.96, 1.04))

    @cached_property
    def siblings(self) -> dict[str, list[Row]]:
        """The variants of each product."""
        by_product: defaultdict[str, list[Row]] = defaultdict(list)
        for variant in self.rows["variants"]:
            by_product[variant["product_id"]].append(variant)
        return by_product

    # --- who buys -------------------------------------------------------------------------------

    def sign_up_customers(self) -> None:
        """Customers, some of whom share their full name with another, none name and zip."""
        known: list[tuple[str, str]] = []
        seen: set[tuple[str, str, str]] = set()
        while len(known) < CUSTOMERS:
            namesake = len(known) >= CUSTOMERS - NAMESAKES
            first, last = self.random.choice(known) if namesake else self._name()
            address = self._address()
            if (first, last, address["zip"]) not in seen:
                seen.add((first, last, address["zip"]))
                known.append((first, last))
                self._sign_up(first, last, address)

    def _sign_up(self, first: str, last: str, address: Row) -> None:
        plain_first, plain_last = plain_letters(first), plain_letters(last)
        number = self.fresh(4)
        user_id = f"{plain_first}_{plain_last}_{number}"
        mailbox = self.random.choice(
            (f"{plain_first}.{plain_last}{number}", f"{plain_first[0]}{plain_last}{number}",
             f"{plain_last}{plain_first}{number[:2]}", f"{plain_first}{number}")
        )  # fmt: skip
        while mailbox in self.taken:
            mailbox += self.random.choice("0123456789")
        self.taken.add(mailbox)
        host = self.weighted({"example.com": 5, "example.org": 2, "example.net": 2})
        self.add("addresses", address_id=user_id, **address)
        self.add(
            "customers",
            user_id=user_id,
            first_name=first,
            last_name=last,
            email=f"{mailbox}@{host}",
        )
        for source in self._payment_sources():
            self._payment_method(user_id, source)

    def _name(self) -> tuple[str, str]:
        people = source_words("retail", "people")
        firsts = self.random.choice(people)
        lasts = self.random.choice(people) if self.chance(1 / 8) else firsts
        return self.random.choice(firsts["first"]), self.random.choice(lasts["last"])

    def _address(self) -> Row:
        places = source_words("retail", "places")
        place = self.random.choice(places["cities"])
        second = self.random.choice(places["second_lines"])
        # Six zips a city: neighbours share one, so that a zip alone identifies nobody.
        ending = self.random.choice(("04", "11", "19", "26", "38", "47"))
        return {
            "address1": f"{self.random.randint(11, 989)} {self.random.choice(places['streets'])} "
            f"{self.random.choice(places['kinds'])}",
            "address2": f"{second} {self.random.randint(1, 499)}" if second else "",
            "city": place["city"],
            "country": "USA",
            "state": place["state"],
            "zip": place["zip"] + ending,
        }

    def _payment_sources(self) -> list[str]:
        wallet = ["credit_card", "gift_card", "paypal", "credit_card", "gift_card"]
        return self.random.sample(wallet, self.weighted({1: 30, 2: 40, 3: 22, 4: 8}))

    def _payment_method(self, user_id: str, source: str) -> None:
        details: Row = {}
        if source == "credit_card":
            details["brand"] = self.weighted({"visa": 5, "mastercard": 4, "american express": 2})
            details["last_four"] = f"{self.random.randrange(10_000):04}"
        elif source == "gift_card":
            details["balance_cents"] = self._balance_cents()
        method = self.fresh(7, f"{source}_")
        self.add(
            "payment_methods", payment_method_id=method, user_id=user_id, source=source, **details
        )

    def _balance_cents(self) -> int:
        """Empty, a round present, or what is left after a purchase."""
        kind = self.weighted({"empty": 1, "round": 4, "rest": 5})
        if kind == "empty":
            return 0
        if kind == "round":
            return int(self.random.choice((2500, 5000, 7500, 10_000, 15_000, 25_000, 50_000)))
        return self.random.randint(150, 32_000)

    # --- what was ordered -----------------------------------------------------------------------

    def take_orders(self) -> None:
        wallets: defaultdict[str, list[str]] = defaultdict(list)
        for method in self.rows["payment_methods"]:
            wallets[method["user_id"]].append(method["payment_method_id"])
        homes = {address["address_id"]: address for address in self.rows["addresses"]}
        for customer in self.rows["customers"]:
            user_id = customer["user_id"]
            for _ in range(self.weighted({0: 7, 1: 24, 2: 30, 3: 21, 4: 12, 5: 6})):
                self._take_order(user_id, homes[user_id], wallets[user_id])

    def _take_order(self, user_id: str, home: Row, wallet: list[str]) -> None:
        order_id = self.fresh(7, "#W")
        status = self.weighted(
            {"pending": 42, "delivered": 33, "processed": 11, "cancelled": 11,
             "return requested": 2, "exchange requested": 2}
        )  # fmt: skip
        address = home if self.chance(0.86) else self._address()
        self.add("addresses", **(address | {"address_id": order_id}))
        reason = self.random.choice(CANCEL_REASONS) if status == "cancelled" else None
        self.add("orders", order_id=order_id, user_id=user_id, status=status, cancel_reason=reason)
        items = self._items()
        for line, item in enumerate(items):
            self.add(
                "order_items",
                order_id=order_id,
                line=line,
                item_id=item["item_id"],
                price_cents=item["price_cents"],
            )
        method = self.random.choice(wallet)
        self._pay(order_id, sum(item["price_cents"] for item in items), method, status)
        if status not in ("pending", "cancelled"):
            self._ship(order_id, len(items))
        if status == "return requested":
            self._request_return(order_id, items, method)
        if status == "exchange requested":
            self._request_exchange(order_id, items, method)

    def _items(self) -> list[Row]:
        """One to five lines, now and then the same item twice."""
        items = [
            self.random.choice(self.siblings[chosen["product_id"]])
            for chosen in self.random.sample(
                self.rows["products"], self.weighted({1: 30, 2: 30, 3: 20, 4: 12, 5: 8})
            )
        ]
        if self.chance(0.1):
            items.append(self.random.choice(items))
        return items

    def _pay(self, order_id: str, total_cents: int, method: str, status: str) -> None:
        kinds = ("payment", "refund") if status == "cancelled" else ("payment",)
        for number, kind in enumerate(kinds):
            self.add(
                "payments",
                order_id=order_id,
                number=number,
                transaction_type=kind,
                amount_cents=total_cents,
                payment_method_id=method,
            )

    def _ship(self, order_id: str, lines: int) -> None:
        """One parcel, or two when there is enough to fill them."""
        parcels = 2 if lines > 2 and self.chance(0.25) else 1
        for number in range(parcels):
            self.add("fulfilments", order_id=order_id, number=number, tracking_id=self.fresh(12))
        for line in range(lines):
            self.add("fulfilment_items", order_id=order_id, line=line, number=line % parcels)

    def _request_return(self, order_id: str, items: list[Row], method: str) -> None:
        self.add("returns", order_id=order_id, payment_method_id=method)
        item_id = self.random.choice(items)["item_id"]
        self.add("return_items", order_id=order_id, item_id=item_id, quantity=1)

    def _request_exchange(self, order_id: str, items: list[Row], method: str) -> None:
        """One item for another of the same product that could be had."""
        old = self.random.choice(items)
        new = self.random.choice(
            [v for v in self.siblings[old["product_id"]] if v["available"] and v is not old]
        )
        self.add(
            "exchanges",
            order_id=order_id,
            payment_method_id=method,
            price_difference_cents=new["price_cents"] - old["price_cents"],
        )
        self.add(
            "exchange_items",
            order_id=order_id,
            item_id=old["item_id"],
            new_item_id=new["item_id"],
            quantity=1,
        )


if __name__ == "__main__":
    write_world()
