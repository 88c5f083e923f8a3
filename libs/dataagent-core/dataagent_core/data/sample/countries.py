"""Where the sample's customers live and what people are called there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Country:
    """A country. `customers` is how many live there; a city is name, state and postal code."""

    country: str
    customers: int
    dial: str
    domain: str
    cities: tuple[tuple[str, str | None, str], ...]
    streets: tuple[str, ...]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]


def _country(
    country: str, customers: int, dial: str, domain: str, *, cities: str, streets: str, people: str
) -> Country:
    """`cities` are `Name|State|Code; …`, `people` are `First First / Last Last`."""
    parts = [tuple(part.strip() for part in city.split("|")) for city in cities.split(";")]
    first, last = people.split("/")
    return Country(
        country,
        customers,
        dial,
        domain,
        tuple((name, state or None, code) for name, state, code in parts),
        tuple(one.strip() for one in streets.split(";")),
        tuple(first.split()),
        tuple(last.split()),
    )


COUNTRIES: tuple[Country, ...] = (
    _country(
        "USA", 22, "+1", "com",
        cities="New York|NY|10012; Chicago|IL|60611; Seattle|WA|98109; Austin|TX|78701;"
        "Boston|MA|02113; Denver|CO|80203; Portland|OR|97209; Madison|WI|53703",
        streets="Maple Street; Lakeview Avenue; Hudson Row; Juniper Drive; Mission Boulevard",
        people="Grace Ethan Olivia Marcus Naomi Caleb Hazel Julian / Whitfield Harmon Delgado "
        "Pruitt "
        "Langley Okoro Bennett Sorensen",
    ),
    _country(
        "Germany", 12, "+49", "de",
        cities="Berlin||10119; Hamburg||20354; München||80331; Köln||50667; Leipzig||04109",
        streets="Lindenallee; Bahnhofstraße; Am Mühlbach; Kastanienweg",
        people="Lena Jonas Mira Felix Anke Torsten / Brandt Hoffmeister Krüger Vogt Seidel Lorenz",
    ),
    _country(
        "France", 10, "+33", "fr",
        cities="Paris||75011; Lyon||69002; Bordeaux||33000; Lille||59000; Nantes||44000",
        streets="Rue des Tilleuls; Avenue du Port; Place de la Fontaine; Quai Nord",
        people="Camille Hugo Manon Théo Élise Bastien / Fournier Marchand Lacroix Perrault "
        "Vidal Noël",
    ),
    _country(
        "Brazil", 9, "+55", "br",
        cities="São Paulo|SP|01310-200; Rio de Janeiro|RJ|20040-020; Curitiba|PR|80020-300;"
        "Salvador|BA|40020-210",
        streets="Rua das Palmeiras; Avenida Central; Travessa do Sol",
        people="Marina Thiago Beatriz Caio Larissa Rafael / Almeida Barbosa Teixeira Moura "
        "Pacheco Rocha",
    ),
    _country(
        "Canada", 9, "+1", "ca",
        cities="Toronto|ON|M5V 2T6; Vancouver|BC|V6B 1P1; Montréal|QC|H2Y 1C6; Halifax|NS|B3J 1S9",
        streets="Birch Lane; Queen Street; Harbourfront Road; Rue Sainte-Claire",
        people="Chloe Liam Maeve Noah Sophie Owen / MacLeod Tremblay Ashworth Nguyen Gagnon Fraser",
    ),
    _country(
        "China", 8, "+86", "cn",
        cities="Shanghai|SH|200031; Beijing|BJ|100020; Shenzhen|GD|518048; Chengdu|SC|610041",
        streets="Huaihai Road; Chaoyang Road; Binhe Avenue; Jinli Street",
        people="Wei Fang Ming Xiuying Lei Yan / Zhao Qian Sun Zhou Wu Zheng",
    ),
    _country(
        "United Kingdom", 8, "+44", "co.uk",
        cities="London||N1 7GU; Edinburgh||EH1 2NG; Manchester||M4 1HQ; Bristol||BS1 4DJ",
        streets="Church Lane; Station Road; Albion Terrace; Mill Walk",
        people="Isla Harry Poppy Rhys Edith Alfie / Pemberton Cartwright Hughes Sinclair Doyle "
        "Marsh",
    ),
    _country(
        "India", 7, "+91", "in",
        cities="Delhi|DL|110017; Bengaluru|KA|560001; Mumbai|MH|400001; Pune|MH|411001",
        streets="Gandhi Marg; Residency Road; Linking Road",
        people="Priya Arjun Kavya Rohan Meera Vikram / Iyer Kapoor Menon Deshmukh Rao Banerjee",
    ),
    _country(
        "Japan", 5, "+81", "jp",
        cities="Tokyo||150-0001; Osaka||530-0001; Sapporo||060-0001",
        streets="Sakura-dori; Midori-cho; Chuo",
        people="Haruka Ren Yui Sota / Tanabe Morikawa Ishida Kuroda",
    ),
    _country(
        "Portugal", 4, "+351", "pt",
        cities="Lisboa||1200-109; Porto||4000-322",
        streets="Rua do Carmo; Largo da Sé",
        people="Inês Duarte Leonor / Carvalho Figueira Nogueira",
    ),
    _country(
        "Czech Republic", 4, "+420", "cz",
        cities="Praha||110 00; Brno||602 00",
        streets="Vinohradská; Dlouhá",
        people="Tereza Ondřej Klára / Horák Veselá Beneš",
    ),
    _country(
        "Australia", 4, "+61", "com.au",
        cities="Sydney|NSW|2010; Melbourne|VIC|3000",
        streets="Wattle Street; Bayside Parade",
        people="Matilda Lachlan Ruby / Callaghan Brighton Wells",
    ),
    _country(
        "Spain", 3, "+34", "es",
        cities="Madrid||28015; Sevilla||41004",
        streets="Calle Mayor; Paseo del Río",
        people="Lucía Álvaro Carmen / Ortega Navarro Cano",
    ),
    _country(
        "Italy", 3, "+39", "it",
        cities="Roma|RM|00192; Torino|TO|10121",
        streets="Via Garibaldi; Corso Nuovo",
        people="Giulia Matteo Chiara / Bianchi Ferrara Conti",
    ),
    _country(
        "Netherlands", 3, "+31", "nl",
        cities="Amsterdam|VV|1016 GV; Utrecht|UT|3511 EP",
        streets="Keizersgracht; Molenweg",
        people="Sanne Daan Lotte / Visser Dekker Hendriks",
    ),
    _country(
        "Sweden", 2, "+46", "se",
        cities="Stockholm||113 51; Malmö||211 22",
        streets="Björkgatan; Sveavägen",
        people="Elsa Nils / Lindgren Åkesson",
    ),
    _country(
        "Norway", 2, "+47", "no",
        cities="Oslo||0171; Bergen||5014",
        streets="Fjordveien; Storgata",
        people="Ingrid Sondre / Haugen Solberg",
    ),
    _country(
        "Denmark", 2, "+45", "dk",
        cities="København||1260; Aarhus||8000",
        streets="Strandvejen; Nørregade",
        people="Freja Mikkel / Holm Kjær",
    ),
    _country(
        "Poland", 2, "+48", "pl",
        cities="Warszawa||00-358; Kraków||31-001",
        streets="Ulica Długa; Aleja Lipowa",
        people="Zofia Jakub / Kowalczyk Zielińska",
    ),
    _country(
        "Austria", 2, "+43", "at",
        cities="Wien||1010; Graz||8010",
        streets="Ringgasse; Am Anger",
        people="Johanna Lukas / Gruber Steindl",
    ),
    _country(
        "Argentina", 2, "+54", "ar",
        cities="Buenos Aires||1106; Rosario||2000",
        streets="Calle Florida; Avenida Sur",
        people="Valentina Joaquín / Sosa Medina",
    ),
    _country(
        "Chile", 2, "+56", "cl",
        cities="Santiago||8320000; Valparaíso||2340000",
        streets="Calle Lira; Paseo Cerro",
        people="Antonia Diego / Fuentes Araya",
    ),
    _country(
        "Ireland", 2, "+353", "ie",
        cities="Dublin|Dublin|D02 X285; Cork|Cork|T12 P928",
        streets="Quay Lane; Abbey Street",
        people="Aoife Cian / Gallagher Nolan",
    ),
    _country(
        "South Africa", 2, "+27", "co.za",
        cities="Cape Town|WC|8001; Durban|KZN|4001",
        streets="Long Street; Marine Drive",
        people="Thandi Pieter / Dlamini Botha",
    ),
)  # fmt: skip
