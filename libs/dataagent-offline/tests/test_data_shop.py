"""With no key, plain questions about the sample shop get the numbers that hand-written SQL gives.

Each row is a talk: questions in order, each with the SQL a person would write for it. The columns
of that SQL stand in the order of the answer's.
"""

from __future__ import annotations

import pytest

from .data_player import Player, Source, same_rows, shows_rows
from .data_sources import shop

LINES = (
    "InvoiceLine l JOIN Invoice i ON l.InvoiceId = i.InvoiceId"
    " JOIN Customer c ON i.CustomerId = c.CustomerId JOIN Track t ON l.TrackId = t.TrackId"
    " JOIN Genre g ON t.GenreId = g.GenreId JOIN Album a ON t.AlbumId = a.AlbumId"
    " JOIN Artist r ON a.ArtistId = r.ArtistId"
)
SALES = "SUM(l.UnitPrice * l.Quantity)"
BOUGHT = "Invoice i JOIN Customer c ON i.CustomerId = c.CustomerId"
IN_2023 = "i.InvoiceDate LIKE '2023-%'"
BY_COUNTRY = f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} GROUP BY 1 ORDER BY 2 DESC, 1"
BY_YEAR = "SELECT substr(InvoiceDate, 1, 4), SUM(Total) FROM Invoice GROUP BY 1 ORDER BY 1"
BY_MONTH_2023 = (
    "SELECT substr(InvoiceDate, 1, 7), SUM(Total) FROM Invoice"
    " WHERE InvoiceDate LIKE '2023-%' GROUP BY 1 ORDER BY 1"
)
QUARTER = (
    "substr(InvoiceDate, 1, 4) || '-Q' || CASE WHEN substr(InvoiceDate, 6, 2) <= '03' THEN 1"
    " WHEN substr(InvoiceDate, 6, 2) <= '06' THEN 2"
    " WHEN substr(InvoiceDate, 6, 2) <= '09' THEN 3 ELSE 4 END"
)
TOP_ARTISTS = f"SELECT r.Name, {SALES} FROM {LINES} GROUP BY r.ArtistId ORDER BY 2 DESC, 1 LIMIT 5"
TRACKS_BY_GENRE = (
    "SELECT g.Name, COUNT(*) FROM Track t JOIN Genre g ON t.GenreId = g.GenreId"
    " GROUP BY g.GenreId ORDER BY 2 DESC, 1"
)
CUSTOMERS = "SELECT COUNT(*) FROM Customer"
GERMANS = "SELECT COUNT(*) FROM Customer WHERE Country = 'Germany'"

Talk = tuple[tuple[str, str], ...]


def one(question: str, sql: str) -> Talk:
    return ((question, sql),)


def both(english: str, chinese: str, sql: str) -> tuple[Talk, Talk]:
    return (one(english, sql), one(chinese, sql))


COUNTS = (
    *both("how many customers are there?", "一共有多少客户？", CUSTOMERS),
    *both("What is the total number of tracks?", "曲目总数", "SELECT COUNT(*) FROM Track"),
    *both("number of albums", "有多少张专辑", "SELECT COUNT(*) FROM Album"),
    *both("count invoices in 2022", "2022年有多少张发票",
          "SELECT COUNT(*) FROM Invoice WHERE InvoiceDate LIKE '2022-%'"),
    *both("How many playlists do we have?", "播放列表有多少个", "SELECT COUNT(*) FROM Playlist"),
    *both("how many customers are in Germany", "德国有多少客户", GERMANS),
    one("how many German customers are there?", GERMANS),
    *both("how many Rock tracks are there?", "有多少首摇滚歌曲",
          "SELECT COUNT(*) FROM Track t JOIN Genre g USING (GenreId) WHERE g.Name = 'Rock'"),
    *both("how many invoices have a total over 10?", "金额超过10的发票有多少张",
          "SELECT COUNT(*) FROM Invoice WHERE Total > 10"),
    *both("how many tracks in the playlist Music?", "播放列表Music里有多少首歌",
          "SELECT COUNT(*) FROM PlaylistTrack JOIN Playlist USING (PlaylistId)"
          " WHERE Name = 'Music'"),
    *both("how many different countries do customers come from?", "客户来自多少个不同的国家",
          "SELECT COUNT(DISTINCT Country) FROM Customer"),
    *both("how many customers bought Jazz?", "有多少客户购买过爵士",
          f"SELECT COUNT(DISTINCT c.CustomerId) FROM {LINES} WHERE g.Name = 'Jazz'"),
    *both("how many tracks were sold in 2023?", "2023年卖出了多少首曲目",
          f"SELECT SUM(l.Quantity) FROM {LINES} WHERE {IN_2023}"),
    one("how many employees were hired before 2020?",
        "SELECT COUNT(*) FROM Employee WHERE HireDate < '2020-01-01'"),
    one("how many customers in Berlin?", "SELECT COUNT(*) FROM Customer WHERE City = 'Berlin'"),
    one("柏林有多少客户", "SELECT COUNT(*) FROM Customer WHERE City = 'Berlin'"),
)  # fmt: skip

TOTALS = (
    *both("total sales", "销售总额是多少", "SELECT SUM(Total) FROM Invoice"),
    *both("What is the total revenue in 2023?", "2023年的销售额",
          "SELECT SUM(Total) FROM Invoice WHERE InvoiceDate LIKE '2023-%'"),
    *both("average invoice total", "平均每张发票的金额", "SELECT AVG(Total) FROM Invoice"),
    *both("what's the maximum invoice total in 2024?", "2024年最高的发票金额是多少",
          "SELECT MAX(Total) FROM Invoice WHERE InvoiceDate LIKE '2024-%'"),
    *both("lowest unit price of tracks", "曲目的最低单价", "SELECT MIN(UnitPrice) FROM Track"),
    *both("average track length", "平均曲目时长", "SELECT AVG(Milliseconds) FROM Track"),
    *both("how much did customers in Germany spend in 2023?", "2023年德国客户的总消费",
          f"SELECT SUM(i.Total) FROM {BOUGHT} WHERE c.Country = 'Germany' AND {IN_2023}"),
    *both("sales for Rock", "摇滚的销售额是多少",
          f"SELECT {SALES} FROM {LINES} WHERE g.Name = 'Rock'"),
    *both("sales in Q1 2024", "2024年第一季度的销售额",
          "SELECT SUM(Total) FROM Invoice"
          " WHERE InvoiceDate BETWEEN '2024-01-01' AND '2024-03-31z'"),
    *both("revenue since 2024", "2024年以来的销售额",
          "SELECT SUM(Total) FROM Invoice WHERE InvoiceDate >= '2024-01-01'"),
    *both("units sold", "总销量", "SELECT SUM(Quantity) FROM InvoiceLine"),
    one("sales in March 2024",
        "SELECT SUM(Total) FROM Invoice WHERE InvoiceDate LIKE '2024-03-%'"),
    one("total milliseconds of tracks in playlist Music",
        "SELECT SUM(Milliseconds) FROM Track WHERE TrackId IN (SELECT TrackId FROM PlaylistTrack"
        " JOIN Playlist USING (PlaylistId) WHERE Name = 'Music')"),
)  # fmt: skip

GROUPS = (
    *both("sales by country", "每个国家的销售总额", BY_COUNTRY),
    *both("revenue by genre", "按流派统计销售额",
          f"SELECT g.Name, {SALES} FROM {LINES} GROUP BY g.GenreId ORDER BY 2 DESC, 1"),
    *both("how many tracks does each genre have", "各流派的曲目数量", TRACKS_BY_GENRE),
    *both("number of customers per employee", "按客服代表统计客户数量",
          "SELECT e.FirstName, e.LastName, COUNT(*) FROM Customer c JOIN Employee e"
          " ON c.SupportRepId = e.EmployeeId GROUP BY e.EmployeeId ORDER BY 3 DESC, 1, 2"),
    *both("average unit price of tracks by genre", "各流派曲目的平均单价",
          "SELECT g.Name, AVG(t.UnitPrice) FROM Track t JOIN Genre g USING (GenreId)"
          " GROUP BY g.GenreId ORDER BY 2 DESC, 1"),
    *both("average track length by playlist", "各播放列表的平均曲目时长",
          "SELECT p.Name, AVG(t.Milliseconds) FROM Playlist p JOIN PlaylistTrack USING (PlaylistId)"
          " JOIN Track t USING (TrackId) GROUP BY p.PlaylistId ORDER BY 2 DESC, 1"),
    *both("number of invoices by genre", "各流派的发票数量",
          f"SELECT g.Name, COUNT(DISTINCT i.InvoiceId) FROM {LINES} GROUP BY g.GenreId"
          " ORDER BY 2 DESC, 1"),
    *both("sum of invoice totals by genre", "各流派的发票总金额",
          f"SELECT g.Name, {SALES} FROM {LINES} GROUP BY g.GenreId ORDER BY 2 DESC, 1"),
    *both("customers by city in Germany", "德国各城市的客户数量",
          "SELECT City, COUNT(*) FROM Customer WHERE Country = 'Germany' GROUP BY 1"
          " ORDER BY 2 DESC, 1"),
    *both("countries with more than 5 customers", "超过5个客户的国家",
          "SELECT Country, COUNT(*) FROM Customer GROUP BY 1 HAVING COUNT(*) > 5"
          " ORDER BY 2 DESC, 1"),
    *both("sales except USA by country", "除了美国以外各国的销售额",
          f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} WHERE c.Country <> 'USA' GROUP BY 1"
          " ORDER BY 2 DESC, 1"),
    one("units sold by media type",
        "SELECT m.Name, SUM(l.Quantity) FROM InvoiceLine l JOIN Track USING (TrackId)"
        " JOIN MediaType m USING (MediaTypeId) GROUP BY m.MediaTypeId ORDER BY 2 DESC, 1"),
)  # fmt: skip

RANKS = (
    *both("top 5 artists by sales", "销售额最高的5位艺术家", TOP_ARTISTS),
    *both("bottom 3 countries by sales", "销售额最低的3个国家",
          f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} GROUP BY 1 ORDER BY 2, 1 LIMIT 3"),
    *both("which country has the most customers?", "哪个国家的客户最多",
          "SELECT Country, COUNT(*) FROM Customer GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),
    *both("top 3 genres by number of tracks", "曲目最多的3个流派", f"{TRACKS_BY_GENRE} LIMIT 3"),
    *both("the 5 longest tracks", "最长的5首歌",
          "SELECT Name, Milliseconds FROM Track ORDER BY 2 DESC, 1 LIMIT 5"),
    *both("which customer spent the most in 2023?", "2023年哪位客户消费最高",
          f"SELECT c.FirstName, c.LastName, SUM(i.Total) FROM {BOUGHT} WHERE {IN_2023}"
          " GROUP BY c.CustomerId ORDER BY 3 DESC LIMIT 1"),
    *both("which month had the highest sales in 2023", "2023年哪个月销售额最高",
          "SELECT substr(InvoiceDate, 1, 7), SUM(Total) FROM Invoice WHERE InvoiceDate"
          " LIKE '2023-%' GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),
    *both("which artist has the most albums", "专辑最多的艺术家",
          "SELECT r.Name, COUNT(*) FROM Album JOIN Artist r USING (ArtistId) GROUP BY r.ArtistId"
          " ORDER BY 2 DESC LIMIT 1"),
    *both("top 10 customers by number of invoices", "发票最多的10个客户",
          f"SELECT c.FirstName, c.LastName, COUNT(*) FROM {BOUGHT} GROUP BY c.CustomerId"
          " ORDER BY 3 DESC, 1, 2 LIMIT 10"),
    one("who spent the most?",
        f"SELECT c.FirstName, c.LastName, SUM(i.Total) FROM {BOUGHT} GROUP BY c.CustomerId"
        " ORDER BY 3 DESC LIMIT 1"),
    one("销量最高的5首歌曲",
        "SELECT t.Name, SUM(l.Quantity) FROM InvoiceLine l JOIN Track t USING (TrackId)"
        " GROUP BY t.TrackId ORDER BY 2 DESC, 1 LIMIT 5"),
)  # fmt: skip

BY_GENRE = f"SELECT g.Name, {SALES} FROM {LINES} GROUP BY g.GenreId ORDER BY 2 DESC, 1"
BY_ARTIST = f"SELECT r.Name, {SALES} FROM {LINES} GROUP BY r.ArtistId ORDER BY 2 DESC, 1"
BY_TRACK = f"SELECT t.Name, {SALES} FROM {LINES} GROUP BY t.TrackId ORDER BY 2 DESC, 1"
BY_BUYER = (
    f"SELECT c.FirstName, c.LastName, SUM(i.Total) FROM {BOUGHT} GROUP BY c.CustomerId"
    " ORDER BY 3 DESC, 1, 2"
)

SELLING = (
    *both("Which five genres sell most?", "哪五个流派卖得最好", f"{BY_GENRE} LIMIT 5"),
    *both("which genre sells best?", "哪个流派卖得最好？", f"{BY_GENRE} LIMIT 1"),
    *both("which genres sell the most?", "哪些流派卖得最好", f"{BY_GENRE} LIMIT 10"),
    *both("top 5 selling artists", "最畅销的5位艺术家", f"{BY_ARTIST} LIMIT 5"),
    *both("which track sold the most?", "最畅销的歌曲", f"{BY_TRACK} LIMIT 1"),
    *both("best-selling genre in 2024", "2024年哪个流派卖得最好？",
          f"SELECT g.Name, {SALES} FROM {LINES} WHERE i.InvoiceDate LIKE '2024-%'"
          " GROUP BY g.GenreId ORDER BY 2 DESC LIMIT 1"),
    *both("which genre is selling best in Germany?", "德国卖得最好的流派是哪个",
          f"SELECT g.Name, {SALES} FROM {LINES} WHERE c.Country = 'Germany'"
          " GROUP BY g.GenreId ORDER BY 2 DESC LIMIT 1"),
    *both("Which country buys most?", "哪个国家买得最多", f"{BY_COUNTRY} LIMIT 1"),
    *both("which 3 countries buy the most", "哪三个国家购买最多", f"{BY_COUNTRY} LIMIT 3"),
    *both("which customer buys the most?", "哪位客户买得最多", f"{BY_BUYER} LIMIT 1"),
    *both("in which month did we sell the most?", "哪个月卖得最好",
          "SELECT substr(InvoiceDate, 1, 7), SUM(Total) FROM Invoice GROUP BY 1"
          " ORDER BY 2 DESC LIMIT 1"),
    *both("which artist sold the most tracks?", "哪位艺术家卖出的歌曲最多",
          f"SELECT r.Name, SUM(l.Quantity) FROM {LINES} GROUP BY r.ArtistId"
          " ORDER BY 2 DESC LIMIT 1"),
    *both("top 5 genres by units sold", "销量最高的五个流派",
          f"SELECT g.Name, SUM(l.Quantity) FROM {LINES} GROUP BY g.GenreId"
          " ORDER BY 2 DESC, 1 LIMIT 5"),
    one("Best selling artists", f"{BY_ARTIST} LIMIT 10"),
    one("five genres that sell most", f"{BY_GENRE} LIMIT 5"),
    one("top 5 best selling tracks", f"{BY_TRACK} LIMIT 5"),
    one("most sold tracks", f"{BY_TRACK} LIMIT 10"),
    one("customers who bought the most", f"{BY_BUYER} LIMIT 10"),
    one("best selling tracks by units",
        f"SELECT t.Name, SUM(l.Quantity) FROM {LINES} GROUP BY t.TrackId"
        " ORDER BY 2 DESC, 1 LIMIT 10"),
    one("how many tracks were sold by country, top 5",
        f"SELECT c.Country, SUM(l.Quantity) FROM {LINES} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5"),
    one("Top 5 customers by revenue", f"{BY_BUYER} LIMIT 5"),
    one("How many customers per country?",
        "SELECT Country, COUNT(*) FROM Customer GROUP BY 1 ORDER BY 2 DESC, 1"),
    one("Revenue per month in 2024 as a chart", BY_MONTH_2023.replace("2023", "2024")),
    one("list all genres in descending order", "SELECT Name FROM Genre ORDER BY 1 DESC"),
)  # fmt: skip

TIMES = (
    *both("monthly sales in 2023", "按月统计2023年的销售额", BY_MONTH_2023),
    *both("sales by year", "每年的销售额", BY_YEAR),
    *both("quarterly sales", "各季度销售额",
          f"SELECT {QUARTER}, SUM(Total) FROM Invoice GROUP BY 1 ORDER BY 1"),
    *both("invoices per month in 2025", "2025年每月的发票数量",
          "SELECT substr(InvoiceDate, 1, 7), COUNT(*) FROM Invoice WHERE InvoiceDate LIKE '2025-%'"
          " GROUP BY 1 ORDER BY 1"),
    *both("sales per day in January 2025", "2025年1月每天的销售额",
          "SELECT substr(InvoiceDate, 1, 10), SUM(Total) FROM Invoice"
          " WHERE InvoiceDate LIKE '2025-01-%' GROUP BY 1 ORDER BY 1"),
    *both("sales by year from 2021 to 2023", "2021年到2023年每年的销售额",
          "SELECT substr(InvoiceDate, 1, 4), SUM(Total) FROM Invoice"
          " WHERE InvoiceDate < '2024-01-01' GROUP BY 1 ORDER BY 1"),
    *both("sales by month for Rock in 2024", "2024年摇滚每月的销售额",
          f"SELECT substr(i.InvoiceDate, 1, 7), {SALES} FROM {LINES} WHERE g.Name = 'Rock'"
          " AND i.InvoiceDate LIKE '2024-%' GROUP BY 1 ORDER BY 1"),
    *both("sales by country and year", "按国家和年份统计销售额",
          f"SELECT c.Country, substr(i.InvoiceDate, 1, 4), SUM(i.Total) FROM {BOUGHT}"
          " GROUP BY 1, 2 ORDER BY 2, 3 DESC, 1"),
)  # fmt: skip

LISTS = (
    *both("which genres are there?", "有哪些流派", "SELECT Name FROM Genre ORDER BY 1"),
    *both("list all employees", "列出所有员工",
          "SELECT FirstName, LastName FROM Employee ORDER BY 1, 2"),
    *both("which cities do customers in Germany live in", "德国客户都在哪些城市",
          "SELECT DISTINCT City FROM Customer WHERE Country = 'Germany' ORDER BY 1"),
    one("customers in Brazil",
        "SELECT FirstName, LastName FROM Customer WHERE Country = 'Brazil' ORDER BY 1, 2"),
    one("which customers bought Opera?",
        f"SELECT DISTINCT c.CustomerId, c.FirstName, c.LastName FROM {LINES}"
        " WHERE g.Name = 'Opera' ORDER BY 1"),
)  # fmt: skip

COMPARED = (
    *both("compare sales in Germany and France", "对比德国和法国的销售额",
          f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} WHERE c.Country IN ('Germany', 'France')"
          " GROUP BY 1 ORDER BY 2 DESC"),
    *both("sales in 2022 versus 2023", "比较2022年和2023年的销售额",
          "SELECT substr(InvoiceDate, 1, 4), SUM(Total) FROM Invoice WHERE InvoiceDate"
          " BETWEEN '2022-01-01' AND '2023-12-31z' GROUP BY 1 ORDER BY 1"),
    *both("how many Rock and Jazz tracks?", "摇滚和爵士各有多少首曲目",
          "SELECT g.Name, COUNT(*) FROM Track JOIN Genre g USING (GenreId)"
          " WHERE g.Name IN ('Rock', 'Jazz') GROUP BY 1 ORDER BY 2 DESC"),
)  # fmt: skip

FOLLOW_UPS: tuple[Talk, ...] = (
    (
        ("sales by year", BY_YEAR),
        ("and only for Germany",
         f"SELECT substr(i.InvoiceDate, 1, 4), SUM(i.Total) FROM {BOUGHT}"
         " WHERE c.Country = 'Germany' GROUP BY 1 ORDER BY 1"),
        ("and by country?", BY_COUNTRY),
        ("what about 2023?",
         f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} WHERE {IN_2023} GROUP BY 1"
         " ORDER BY 2 DESC, 1"),
        ("only the top 3",
         f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} WHERE {IN_2023} GROUP BY 1"
         " ORDER BY 2 DESC, 1 LIMIT 3"),
        ("the bottom 3",
         f"SELECT c.Country, SUM(i.Total) FROM {BOUGHT} WHERE {IN_2023} GROUP BY 1"
         " ORDER BY 2, 1 LIMIT 3"),
    ),
    (
        ("how many customers are in Germany?", GERMANS),
        ("and France?", "SELECT COUNT(*) FROM Customer WHERE Country = 'France'"),
        ("what about invoices?",
         f"SELECT COUNT(*) FROM {BOUGHT} WHERE c.Country = 'France'"),
        ("only in 2024",
         f"SELECT COUNT(*) FROM {BOUGHT} WHERE c.Country = 'France'"
         " AND i.InvoiceDate LIKE '2024-%'"),
        ("by month",
         f"SELECT substr(i.InvoiceDate, 1, 7), COUNT(*) FROM {BOUGHT} WHERE c.Country = 'France'"
         " AND i.InvoiceDate LIKE '2024-%' GROUP BY 1 ORDER BY 1"),
    ),
    (
        ("客户有多少个", CUSTOMERS),
        ("只看德国呢?", GERMANS),
        ("那法国呢", "SELECT COUNT(*) FROM Customer WHERE Country = 'France'"),
        ("按城市统计呢",
         "SELECT City, COUNT(*) FROM Customer WHERE Country = 'France' GROUP BY 1"
         " ORDER BY 2 DESC, 1"),
    ),
    (
        ("各流派的销售额",
         f"SELECT g.Name, {SALES} FROM {LINES} GROUP BY g.GenreId ORDER BY 2 DESC, 1"),
        ("只看德国",
         f"SELECT g.Name, {SALES} FROM {LINES} WHERE c.Country = 'Germany' GROUP BY g.GenreId"
         " ORDER BY 2 DESC, 1"),
        ("2024年呢",
         f"SELECT g.Name, {SALES} FROM {LINES} WHERE c.Country = 'Germany'"
         " AND i.InvoiceDate LIKE '2024-%' GROUP BY g.GenreId ORDER BY 2 DESC, 1"),
        ("前3名",
         f"SELECT g.Name, {SALES} FROM {LINES} WHERE c.Country = 'Germany'"
         " AND i.InvoiceDate LIKE '2024-%' GROUP BY g.GenreId ORDER BY 2 DESC, 1 LIMIT 3"),
    ),
    (
        ("average invoice total", "SELECT AVG(Total) FROM Invoice"),
        ("and the maximum?", "SELECT MAX(Total) FROM Invoice"),
        ("only for Canada", f"SELECT MAX(i.Total) FROM {BOUGHT} WHERE c.Country = 'Canada'"),
        ("for all countries", "SELECT MAX(Total) FROM Invoice"),
    ),
)  # fmt: skip

SINGLE = (*COUNTS, *TOTALS, *GROUPS, *RANKS, *SELLING, *TIMES, *LISTS, *COMPARED)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize("talk", [*SINGLE, *FOLLOW_UPS], ids=lambda talk: talk[-1][0])
def test_the_numbers_are_those_of_hand_written_sql(source: Source, talk: Talk) -> None:
    player = Player(source)
    for question, sql in talk:
        text = player.ask(question)
        assert player.was_answered, f"{question}: {text}"
        assert same_rows(player.rows, source.run(sql)[1]), f"{question}\n{player.sql}"
        assert shows_rows(text, player.rows)
        assert player.unbacked(question) == []
        assert "offline model" in text.lower() or "离线模型" in text
        assert "```sql" in text


def test_enough_is_asked() -> None:
    assert sum(len(talk) for talk in (*SINGLE, *FOLLOW_UPS)) >= 120
