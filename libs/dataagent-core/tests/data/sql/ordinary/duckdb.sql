FROM Artist;

FROM Track SELECT Name, Milliseconds WHERE TrackId < 5;

SELECT count(*) FROM Track;

SELECT name, count() AS n FROM Genre GROUP BY ALL ORDER BY ALL;

SELECT BillingCountry, year(InvoiceDate) AS y, sum(Total) AS total FROM Invoice GROUP BY ALL ORDER BY total DESC, y;

SELECT * EXCLUDE (Composer, Bytes) FROM Track WHERE TrackId < 4;

SELECT * REPLACE (upper(Name) AS Name) FROM Genre;

SELECT * RENAME (Name AS title) FROM Genre;

SELECT t.* EXCLUDE (GenreId), g.Name AS genre FROM Track t JOIN Genre g USING (GenreId) ORDER BY t.TrackId LIMIT 3;

SELECT date_trunc('month', InvoiceDate) AS month, sum(Total) AS revenue FROM Invoice GROUP BY month ORDER BY month;

SELECT strftime(InvoiceDate, '%Y-%m') AS month, avg(Total) AS average FROM Invoice GROUP BY 1 ORDER BY 1;

SELECT monthname(InvoiceDate) AS m, dayname(InvoiceDate) AS d, quarter(InvoiceDate) AS q, count(*) FROM Invoice GROUP BY m, d, q;

SELECT extract('year' FROM InvoiceDate) AS y, extract(dow FROM InvoiceDate) AS dow, sum(Total) FROM Invoice GROUP BY y, dow;

SELECT date_diff('day', InvoiceDate, TIMESTAMP '2024-01-01') AS days, InvoiceDate + INTERVAL 1 MONTH AS later, InvoiceDate - INTERVAL '3 days' AS earlier FROM Invoice;

SELECT last_day(HireDate) AS e, HireDate - BirthDate AS days, age(HireDate, BirthDate) AS age, date_part('month', HireDate) AS m FROM Employee;

SELECT time_bucket(INTERVAL '1 month', InvoiceDate) AS bucket, count(*) AS n FROM Invoice GROUP BY bucket;

SELECT make_date(2020, 2, 29) AS d, strptime('31/12/2021', '%d/%m/%Y') AS t, epoch(TIMESTAMP '2021-01-01') AS s, to_timestamp(0) IS NOT NULL AS z;

SELECT FirstName || ' ' || LastName AS customer, ifnull(Company, '-') AS company FROM Customer;

SELECT CASE WHEN Total > 5 THEN 'big' ELSE 'small' END AS size, count(*) AS n FROM Invoice GROUP BY size HAVING n > 1;

SELECT Total AS amount, amount * 1.2 AS gross, gross - amount AS tax FROM Invoice WHERE amount > 3;

SELECT Country, count(*) FILTER (WHERE Company IS NULL) AS private, count(*) FILTER (Country = 'USA') AS us FROM Customer GROUP BY Country;

SELECT string_agg(Name, ', ' ORDER BY Name) AS names, list(GenreId ORDER BY GenreId DESC) AS ids FROM Genre;

SELECT arg_max(Name, Milliseconds) AS longest, arg_min(Name, Milliseconds) AS shortest, median(Milliseconds) AS mid, mode(GenreId) AS g FROM Track;

SELECT quantile_cont(Total, 0.5) AS m, quantile_disc(Total, [0.25, 0.75]) AS q, stddev(Total) AS sd, corr(Total, InvoiceId) AS c, skewness(Total) AS s FROM Invoice;

SELECT approx_count_distinct(BillingCountry) > 0 AS some, count_if(Total > 5) AS big, bool_or(Total > 8) AS any_huge, product(Quantity) AS p
FROM Invoice JOIN InvoiceLine USING (InvoiceId);

SELECT histogram(UnitPrice) AS h FROM Track;

WITH spent AS (SELECT CustomerId, sum(Total) AS total FROM Invoice GROUP BY CustomerId)
SELECT c.LastName, total FROM spent JOIN Customer c USING (CustomerId) WHERE total > (SELECT avg(total) FROM spent) ORDER BY total DESC;

WITH RECURSIVE boss AS (
    SELECT EmployeeId, LastName, 0 AS level FROM Employee WHERE ReportsTo IS NULL
    UNION ALL
    SELECT e.EmployeeId, e.LastName, boss.level + 1 FROM Employee e JOIN boss ON e.ReportsTo = boss.EmployeeId
)
SELECT level, list(LastName ORDER BY LastName) AS people FROM boss GROUP BY level ORDER BY level;

WITH RECURSIVE fib(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM fib WHERE b < 100) SELECT a FROM fib;

SELECT CustomerId, InvoiceId, Total FROM Invoice QUALIFY row_number() OVER (PARTITION BY CustomerId ORDER BY Total DESC, InvoiceId) = 1;

SELECT Name, rank() OVER w AS place FROM Track WINDOW w AS (PARTITION BY GenreId ORDER BY Milliseconds DESC) QUALIFY place <= 2 ORDER BY place, Name;

SELECT InvoiceId, sum(Total) OVER (ORDER BY InvoiceId) AS running, lag(Total, 1, 0) OVER (ORDER BY InvoiceId) AS before, lead(Total) OVER (ORDER BY InvoiceId) AS next FROM Invoice;

SELECT InvoiceId, avg(Total) OVER (ORDER BY InvoiceDate RANGE BETWEEN INTERVAL 30 DAYS PRECEDING AND CURRENT ROW) AS month_average FROM Invoice;

SELECT TrackId, ntile(4) OVER (ORDER BY Bytes) AS q, percent_rank() OVER (ORDER BY Bytes) AS pr, cume_dist() OVER (ORDER BY Bytes) AS cd FROM Track;

SELECT first_value(Name) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS opener, last_value(Composer IGNORE NULLS) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS c FROM Track;

SELECT City FROM Customer UNION SELECT City FROM Employee ORDER BY City;

SELECT Name AS n, GenreId AS id FROM Genre UNION ALL BY NAME SELECT PlaylistId AS id, Name AS n FROM Playlist ORDER BY id, n;

SELECT TrackId FROM Track EXCEPT SELECT TrackId FROM InvoiceLine;

SELECT City FROM Customer INTERSECT SELECT City FROM Employee;

SELECT BillingCountry, BillingCity, sum(Total), grouping(BillingCity) AS g FROM Invoice GROUP BY ROLLUP (BillingCountry, BillingCity);

SELECT MediaTypeId, GenreId, count(*) FROM Track GROUP BY CUBE (MediaTypeId, GenreId);

SELECT BillingCountry, year(InvoiceDate) AS y, sum(Total) FROM Invoice GROUP BY GROUPING SETS ((BillingCountry), (year(InvoiceDate)), ());

SELECT DISTINCT ON (CustomerId) CustomerId, Total FROM Invoice ORDER BY CustomerId, Total DESC;

SELECT e.LastName AS employee, m.LastName AS manager FROM Employee e LEFT JOIN Employee m ON m.EmployeeId = e.ReportsTo;

SELECT * FROM Album JOIN Artist USING (ArtistId) ORDER BY AlbumId;

SELECT ArtistId, count(*) FROM Album NATURAL JOIN Artist GROUP BY ArtistId;

SELECT * FROM Playlist FULL JOIN PlaylistTrack USING (PlaylistId) ORDER BY PlaylistId, TrackId;

SELECT Name FROM Artist SEMI JOIN Album ON Artist.ArtistId = Album.ArtistId;

SELECT Name FROM Artist ANTI JOIN Album USING (ArtistId);

SELECT i.InvoiceId, e.EventId FROM Invoice i ASOF JOIN Event e ON i.InvoiceDate >= e.At;

SELECT a.Name, g.Name FROM Artist a POSITIONAL JOIN Genre g;

SELECT c.LastName, x.total FROM Customer c, LATERAL (SELECT max(Total) AS total FROM Invoice i WHERE i.CustomerId = c.CustomerId) x;

SELECT c.LastName, x.n FROM Customer c JOIN (SELECT count(*) AS n FROM Invoice i WHERE i.CustomerId = c.CustomerId) x ON true;

SELECT Name FROM Artist a WHERE EXISTS (FROM Album WHERE ArtistId = a.ArtistId);

SELECT Name FROM Artist WHERE ArtistId NOT IN (SELECT ArtistId FROM Album) OR Name ILIKE 'acc%';

SELECT Name FROM Track WHERE Name SIMILAR TO 'Track [0-2].*' AND Name GLOB '*1*' AND regexp_matches(Name, '\d{2}');

SELECT Name FROM Track WHERE Name ~ 'Track 0.' OR Name !~ 'T';

SELECT regexp_extract(Email, '@(.*)$', 1) AS host, regexp_replace(Email, '[0-9]', '#', 'g') AS masked, string_split(Email, '@')[1] AS local FROM Customer;

SELECT upper(Name), lower(Name), length(Name), left(Name, 2), right(Name, -1), reverse(Name), substring(Name, 2, 3), Name[1:2] FROM Artist;

SELECT lpad(GenreId::VARCHAR, 3, '0') AS code, repeat('*', GenreId) AS stars, replace(Name, 'a', 'b') AS r, trim(Name) AS t, contains(Name, 'a') AS c, starts_with(Name, 'R') AS s FROM Genre;

SELECT printf('%d-%s', GenreId, Name) AS p, format('{:>6}|{}', Name, GenreId) AS f, concat_ws('/', Name, GenreId) AS c FROM Genre;

SELECT Payload ->> '$.kind' AS kind, sum((Payload ->> '$.amount')::DOUBLE) AS amount FROM Event GROUP BY kind;

SELECT Payload -> 'user' ->> 'name' AS who, json_extract_string(Payload, '$.user.id') AS id, json_array_length(Payload, '$.tags') AS tags FROM Event;

SELECT e.EventId, unnest(from_json(e.Payload -> 'tags', '["VARCHAR"]')) AS tag FROM Event e;

SELECT e.EventId, j.key, j.value FROM Event e, json_each(e.Payload) j WHERE e.EventId < 3;

SELECT to_json(g) AS j FROM Genre g ORDER BY g.GenreId LIMIT 2;

SELECT {'id': ArtistId, 'name': Name} AS s, struct_pack(a := ArtistId).a AS a, struct_extract({'x': 1}, 'x') AS x FROM Artist;

SELECT x.s.id FROM (SELECT {'id': GenreId, 'label': Name} AS s FROM Genre) x WHERE s.label <> 'Jazz' ORDER BY s.id;

SELECT list_transform([1, 2, 3], lambda v: v * 2) AS a, list_filter([1, 2, 3], lambda v: v > 1) AS b, [v + 1 FOR v IN [1, 2, 3] IF v <> 2] AS c, list_sum([1, 2]) AS d;

SELECT GenreId, list(Name ORDER BY TrackId)[1:2] AS two, list_contains(list(TrackId), 3) AS has3, len(list(TrackId)) AS n FROM Track GROUP BY GenreId;

SELECT list_transform(list(TrackId ORDER BY TrackId), lambda t: t + GenreId) AS shifted FROM Track GROUP BY GenreId;

SELECT MAP {'a': 1, 'b': 2}['a'] AS v, map_keys(MAP {'a': 1}) AS k, map([1, 2], ['x', 'y']) AS m;

SELECT r.range AS i, r.range * 2 AS d FROM range(5) r;

SELECT n FROM generate_series(1, 9, 2) AS s(n) WHERE n % 3 = 0;

SELECT u.x FROM unnest([1, 2, 3]) AS u(x);

SELECT GenreId IN [1, 3] AS odd, GenreId IN (SELECT GenreId FROM Track) AS used FROM Genre;

SELECT Total::INTEGER AS i, CAST(Total AS VARCHAR) AS v, TRY_CAST('x' AS INTEGER) AS n, '2021-01-01'::DATE AS d, 5 // 2 AS whole, 5 / 2 AS part, 2 ** 3 AS p, 7 % 3 AS r FROM Invoice LIMIT 2;

SELECT round(Total, 1), trunc(Total), ceil(Total), floor(Total), abs(-Total), sqrt(Total), ln(1), log(100), log2(8), greatest(1, 2), least(1, 2), fmod(7.5, 2), mod(7, 3) FROM Invoice;

SELECT Name FROM Playlist ORDER BY Name DESC NULLS FIRST;

SELECT Track.Name, Genre.Name FROM Track LEFT JOIN Genre ON Genre.GenreId = Track.GenreId ORDER BY Track.Name LIMIT 5;

SELECT upper(Name) AS Name FROM Genre WHERE Name = 'Rock' ORDER BY Name;

SELECT Country AS Name, count(*) AS Country FROM Customer GROUP BY Name ORDER BY Country, Name;

SELECT "产品 名称", sum("数量") AS "合 计" FROM "订单 明细" GROUP BY "产品 名称" ORDER BY "合 计" DESC;

SELECT "order", ORDER_TOO FROM (SELECT "Order", "Order" || '!' AS order_too FROM "订单 明细");

SELECT ARTIST.NAME, artist.artistid FROM ARTIST WHERE Artist.ARTISTID < 4;

VALUES (1, 'one'), (2, 'two');

SELECT col0, v.col1 FROM (VALUES (1, 'a'), (2, 'b')) v;

SELECT main.Genre.Name FROM main.Genre;

SELECT s.* FROM (SELECT TrackId AS id, Name FROM Track WHERE AlbumId = 2) AS s(a, b);

SELECT (SELECT max(Total) FROM Invoice) AS top, (SELECT list(Name ORDER BY Name) FROM MediaType) AS media;

SELECT count(*) FROM Track USING SAMPLE 100%;

SELECT x FROM (SELECT GenreId AS x FROM Genre) AS x ORDER BY x;
