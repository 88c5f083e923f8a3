"""Invented names for artists, albums and tracks, built from lists of words."""

from __future__ import annotations

from random import Random


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ADJECTIVES = _words(
    "Amber Bitter Borrowed Broken Bright Calm Cedar Copper Crooked Distant Dusty Early Electric "
    "Empty Faded Feral Fragile Frozen Gentle Golden Half Hidden Hollow Humble Idle Ivory Jagged "
    "Late Little Lonely Lost Lucid Marble Mellow Midnight Northern Odd Painted Pale Paper "
    "Patient Plain Quiet Restless Rusted Salted Scarlet Secret Silver Slow Small Solar Static "
    "Stolen Sudden Tender Tidal Torn Velvet Violet Wandering Warm Wild Wooden Yellow"
)
_NOUNS = _words(
    "Anchor Atlas Avenue Balcony Beacon Bicycle Bridge Canyon Carousel Cathedral Chimney Circus "
    "Cloud Comet Compass Corner Cradle Current Dawn Desert Engine Ember Falcon Ferry Field "
    "Forest Garden Ghost Glacier Harbour Harvest Horizon Island Kettle Kingdom Ladder Lantern "
    "Letter Library Lighthouse Meadow Mirror Monsoon Mountain Needle Ocean Orchard Parade "
    "Pilgrim Pier Postcard Raven Ribbon River Rooftop Satellite Shadow Shoreline Signal Sparrow "
    "Staircase Station Summer Telephone Thunder Tower Train Traveller Umbrella Valley Viaduct "
    "Voyage Window Winter"
)
_VERBS = _words(
    "Hold Follow Leave Carry Remember Forget Call Wake Chase Paint Keep Break Find Cross Count"
)
_FIRST = _words(
    "Adela Amos Anouk Bela Callum Dalia Elio Esme Farid Greta Hana Ilja Imani Jonas Kaito Leda "
    "Lior Mabel Mirela Nadim Noor Odile Oskar Petra Quinn Rafael Sanna Tamsin Teodor Uma Vesna "
    "Wendel Yara"
)
_LAST = _words(
    "Abendroth Arkwright Barroso Calderwood Castellan Delacourt Eklund Farrow Fenwick Galindo "
    "Hartnell Ivanek Joubert Kestrel Lindqvist Marchetti Mbeki Novotna Okafor Penhale Quintero "
    "Rasmus Sandoval Thornbury Umarov Valcourt Westergaard Yilmaz Zelenka"
)
_GROUPS = ("Quartet", "Ensemble", "Collective", "Orchestra", "Trio", "Society", "Sound System")
_PLACES = ("Home", "the Sea", "the North", "Nowhere", "the City", "Sunday", "the Morning", "You")


def person(random: Random) -> str:
    """A composer or a singer."""
    return f"{random.choice(_FIRST)} {random.choice(_LAST)}"


def artist(random: Random) -> str:
    """A band, a singer or an orchestra."""
    adjective, noun = random.choice(_ADJECTIVES), random.choice(_NOUNS)
    forms = (
        f"The {adjective} {noun}s",
        f"{adjective} {noun}",
        f"{noun} & {random.choice(_NOUNS)}",
        person(random),
        f"{random.choice(_LAST)} {random.choice(_GROUPS)}",
        f"{noun} of {random.choice(_PLACES)}",
    )
    return random.choices(forms, weights=(4, 4, 2, 5, 2, 1))[0]


def album(random: Random) -> str:
    """An album's title."""
    adjective, noun = random.choice(_ADJECTIVES), random.choice(_NOUNS)
    forms = (
        f"{adjective} {noun}",
        f"The {noun} and the {random.choice(_NOUNS)}",
        f"{random.choice(_VERBS)} the {noun}",
        f"{noun}s for {random.choice(_PLACES)}",
        f"{noun}",
    )
    return random.choice(forms)


def track(random: Random) -> str:
    """A track's title."""
    adjective, noun = random.choice(_ADJECTIVES), random.choice(_NOUNS)
    forms = (
        f"{adjective} {noun}",
        f"{random.choice(_VERBS)} the {noun}",
        f"{random.choice(_VERBS)} Me to {random.choice(_PLACES)}",
        f"{noun} on {random.choice(_PLACES)}",
        f"My {adjective} {noun}",
        f"{noun} No. {random.randint(2, 9)}",
        f"Under the {noun}",
    )
    return random.choice(forms)
