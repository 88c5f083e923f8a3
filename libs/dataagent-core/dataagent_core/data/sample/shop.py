"""The rows of the sample shop, from one seed, and the SQLite file they are written to.

The rows are the same each time, and they add up. Prices are in cents until they are stored. The
file appears whole or not at all.
"""

from __future__ import annotations

import calendar
import os
import secrets
import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TypeAlias

from dataagent_core.data.sample import words
from dataagent_core.data.sample.countries import COUNTRIES, Country
from dataagent_core.data.sample.schema import INDEXES, SCHEMA

Row: TypeAlias = tuple[str | int | float | None, ...]

_ARTISTS, _ALBUMS = 275, 350
_YEARS = range(2021, 2026)
_SEASON = (0.95, 0.85, 0.95, 1.0, 1.0, 0.95, 0.9, 0.9, 1.0, 1.05, 1.25, 1.5)
_SONG_CENTS, _VIDEO_CENTS = 99, 199
_GENRES = {
    "Rock": 30, "Latin": 14, "Metal": 10, "Alternative & Punk": 10, "Jazz": 9, "Pop": 9,
    "Blues": 6, "Classical": 6, "R&B/Soul": 5, "Reggae": 4, "Electronica/Dance": 4,
    "Hip Hop/Rap": 4, "World": 3, "Soundtrack": 3, "Folk": 3, "Country": 3, "Easy Listening": 1,
    "Heavy Metal": 2, "Bossa Nova": 2, "Rock And Roll": 1, "Alternative": 2, "Opera": 1,
    "TV Shows": 4, "Drama": 2, "Comedy": 1,
}  # fmt: skip
_VIDEO_GENRES = {"TV Shows", "Drama", "Comedy"}
_MEDIA = (
    "MPEG audio file",
    "Protected AAC audio file",
    "Protected MPEG-4 video file",
    "Purchased AAC audio file",
    "AAC audio file",
)
_VIDEO_MEDIA = 3
_PLAYLISTS = (
    "Music", "Television", "New Arrivals", "Sunday Morning", "Long Drives", "Staff Picks",
    "Classical", "Deep Focus", "Dinner Party", "Brazilian Afternoon", "Loud", "Running",
    "Jazz at Night", "On the Road",
)  # fmt: skip
_STAFF = (
    ("Halvorsen", "Astrid", "General Manager", None, date(1968, 4, 12), date(2015, 3, 2)),
    ("Okonkwo", "Daniel", "Sales Manager", 1, date(1974, 9, 30), date(2016, 6, 13)),
    ("Peeters", "Hanne", "Sales Support Agent", 2, date(1985, 1, 21), date(2017, 1, 9)),
    ("Moreau", "Julien", "Sales Support Agent", 2, date(1990, 7, 4), date(2018, 5, 14)),
    ("Chen", "Jing", "Sales Support Agent", 2, date(1988, 11, 17), date(2019, 9, 2)),
    ("Reyes", "Tomás", "IT Manager", 1, date(1979, 2, 8), date(2016, 10, 3)),
    ("Kaplan", "Leah", "IT Staff", 6, date(1992, 12, 1), date(2020, 2, 17)),
    ("Whitaker", "Sam", "IT Staff", 6, date(1995, 5, 26), date(2021, 8, 30)),
)
_SUPPORT_AGENTS = (3, 4, 5)


@dataclass(slots=True)
class Shop:
    """All rows, by table."""

    tables: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])

    @staticmethod
    def open(seed: int) -> Shop:
        """Fill the shop."""
        random = Random(seed)  # noqa: S311 the same each time is the point
        shop = Shop()
        prices, popularity = shop._create_tracks(random)
        shop._create_playlists(random)
        shop.tables["Employee"] = [_employee(i, one) for i, one in enumerate(_STAFF, start=1)]
        shop._create_customers(random)
        shop._create_invoices(random, prices, popularity)
        return shop

    def _create_tracks(self, random: Random) -> tuple[list[int], list[float]]:
        """Artists, albums and tracks; returns each track's price in cents and its popularity."""
        names = _unlike(_ARTISTS, lambda: words.artist(random))
        genres = list(_GENRES)
        of_artist = random.choices(range(len(genres)), weights=list(_GENRES.values()), k=_ARTISTS)
        fame = [random.paretovariate(1.3) for _ in range(_ARTISTS)]
        makers = [*range(_ARTISTS), *random.choices(range(_ARTISTS), fame, k=_ALBUMS - _ARTISTS)]
        self.tables["Artist"] = [(i, name) for i, name in enumerate(names, start=1)]
        self.tables["Genre"] = [(i, name) for i, name in enumerate(genres, start=1)]
        self.tables["MediaType"] = [(i, name) for i, name in enumerate(_MEDIA, start=1)]
        titles = _unlike(_ALBUMS, lambda: words.album(random))
        albums = self.tables["Album"] = []
        tracks = self.tables["Track"] = []
        prices: list[int] = []
        popularity: list[float] = []
        for album, (title, maker) in enumerate(zip(titles, sorted(makers), strict=True), start=1):
            albums.append((album, title, maker + 1))
            is_video = genres[of_artist[maker]] in _VIDEO_GENRES
            for _ in range(random.randint(6, 14)):
                prices.append(_VIDEO_CENTS if is_video else _SONG_CENTS)
                popularity.append(fame[maker] ** 0.5 * random.paretovariate(2))
                tracks.append(
                    _track(random, len(tracks) + 1, album, of_artist[maker] + 1, is_video)
                )
        return prices, popularity

    def _create_playlists(self, random: Random) -> None:
        media = [row[3] for row in self.tables["Track"]]
        songs = [i for i, one in enumerate(media, start=1) if one != _VIDEO_MEDIA]
        videos = [i for i, one in enumerate(media, start=1) if one == _VIDEO_MEDIA]
        self.tables["Playlist"] = [(i, name) for i, name in enumerate(_PLAYLISTS, start=1)]
        members = self.tables["PlaylistTrack"] = []
        for number in range(1, len(_PLAYLISTS) + 1):
            pool = videos if number == 2 else songs
            size = len(pool) if number <= 2 else random.randint(20, 90)
            members.extend((number, track) for track in sorted(random.sample(pool, size)))

    def _create_customers(self, random: Random) -> None:
        places = [place for place in COUNTRIES for _ in range(place.customers)]
        random.shuffle(places)
        taken: set[str] = set()
        customers = self.tables["Customer"] = []
        for number, place in enumerate(places, start=1):
            customers.append(_customer(random, number, place, taken))

    def _create_invoices(self, random: Random, prices: list[int], popularity: list[float]) -> None:
        """Invoices month by month: more each year, most before the holidays."""
        customers = self.tables["Customer"]
        loyalty = list(accumulate(random.paretovariate(1.8) for _ in customers))
        reach = list(accumulate(popularity))
        invoices = self.tables["Invoice"] = []
        lines = self.tables["InvoiceLine"] = []
        for day in _days(random):
            buyer = random.choices(customers, cum_weights=loyalty)[0]
            size = min(14, 1 + int(random.expovariate(0.3)))
            chosen = sorted(set(random.choices(range(len(prices)), cum_weights=reach, k=size)))
            number, cents = len(invoices) + 1, 0
            for track in chosen:
                quantity = 2 if random.random() < 0.06 else 1
                cents += prices[track] * quantity
                price = prices[track] / 100
                lines.append((len(lines) + 1, number, track + 1, price, quantity))
            invoices.append((number, buyer[0], f"{day} 00:00:00", *buyer[4:9], cents / 100))


def _unlike(count: int, make: Callable[[], str]) -> list[str]:
    """So many names, no two alike."""
    names: dict[str, None] = {}
    while len(names) < count:
        names[make()] = None
    return list(names)


def _track(random: Random, number: int, album: int, genre: int, is_video: bool) -> Row:
    media = _VIDEO_MEDIA if is_video else random.choices((1, 2, 4, 5), weights=(80, 12, 3, 5))[0]
    if is_video:
        length = random.randint(1_260_000, 2_700_000)
    else:
        length = int(min(900_000, max(75_000, random.gauss(255_000, 70_000))))
    size = length * (random.randint(170, 210) if is_video else random.randint(28, 40))
    writers = random.choices((0, 1, 2), weights=(25, 55, 20))[0]
    composer = ", ".join(words.person(random) for _ in range(writers)) or None
    price = (_VIDEO_CENTS if is_video else _SONG_CENTS) / 100
    return (number, words.track(random), album, media, genre, composer, length, size, price)


def _employee(number: int, one: tuple[str, str, str, int | None, date, date]) -> Row:
    last, first, title, boss, born, hired = one
    return (
        number, last, first, title, boss, f"{born} 00:00:00", f"{hired} 00:00:00",
        f"{100 + number} Harbour Street", "Calgary", "AB", "Canada", "T2P 2T3",
        f"+1 (403) 555-01{number:02}", None, f"{_ascii(first)}@dataagent-sample.example",
    )  # fmt: skip


def _customer(random: Random, number: int, place: Country, taken: set[str]) -> Row:
    while True:
        first, last = random.choice(place.first_names), random.choice(place.last_names)
        email = f"{_ascii(first)}.{_ascii(last)}@mail.example.{place.domain}"
        if email not in taken:
            break
    taken.add(email)
    city, state, code = random.choice(place.cities)
    address = f"{random.randint(1, 240)} {random.choice(place.streets)}"
    phone = f"{place.dial} {random.randint(20, 99)} 555 {random.randint(0, 9999):04}"
    is_company = random.random() < 0.18
    company = (
        f"{last} {random.choice(('Studio', 'Media', 'Records', 'Events'))}" if is_company else None
    )
    fax = phone[:-4] + f"{random.randint(0, 9999):04}" if is_company else None
    agent = random.choice(_SUPPORT_AGENTS)
    return (
        number, first, last, company, address, city, state, place.country, code, phone, fax, email,
        agent,
    )  # fmt: skip


def _ascii(name: str) -> str:
    plain = name.lower().replace("ø", "o").replace("ł", "l").replace("æ", "ae")
    return unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()


def _days(random: Random) -> list[date]:
    """The dates of all invoices, in order."""
    days: list[date] = []
    for month in range(len(_YEARS) * 12):
        year, index = _YEARS[0] + month // 12, month % 12
        count = round((15 + month * 0.28) * _SEASON[index] * random.uniform(0.92, 1.08))
        last = calendar.monthrange(year, index + 1)[1]
        first = date(year, index + 1, 1)
        days += sorted(first + timedelta(random.randrange(last)) for _ in range(count))
    return days


def create_sample(path: Path, *, seed: int = 7) -> None:
    """Create the sample database at `path`, or replace it. The same seed gives the same rows."""
    shop = Shop.open(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".part-{secrets.token_hex(8)}")
    try:
        with closing(sqlite3.connect(part)) as connection, connection:
            _fill(connection, shop)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, shop: Shop) -> None:
    for table, columns in SCHEMA.items():
        connection.execute(f"CREATE TABLE {table} ({columns}\n)")
        rows = shop.tables[table]
        marks = ", ".join("?" * len(rows[0]))
        # our names
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
    for table, column in INDEXES:
        connection.execute(f"CREATE INDEX IFK_{table}{column} ON {table} ({column})")
