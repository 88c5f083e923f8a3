SELECT * FROM Artist;

SELECT COUNT(*) FROM Track;

SELECT count(DISTINCT Country) AS countries FROM Customer;

SELECT name, COUNT(*) AS n FROM Genre GROUP BY name ORDER BY n DESC, name;

SELECT a.Name AS artist, COUNT(al.AlbumId) AS albums
FROM Artist a LEFT JOIN Album al ON al.ArtistId = a.ArtistId
GROUP BY a.ArtistId, a.Name
HAVING albums >= 1
ORDER BY albums DESC, artist;

SELECT BillingCountry, ROUND(SUM(Total), 2) AS revenue
FROM Invoice
WHERE InvoiceDate >= '2022-01-01' AND InvoiceDate < date('2022-01-01', '+1 year')
GROUP BY BillingCountry
ORDER BY revenue DESC
LIMIT 3;

SELECT strftime('%Y-%m', InvoiceDate) AS month, SUM(Total) AS total
FROM Invoice GROUP BY month ORDER BY month;

SELECT strftime('%Y', InvoiceDate) AS year, COUNT(*) FROM Invoice GROUP BY 1 ORDER BY 1;

SELECT t.Name, t.Milliseconds / 60000.0 AS minutes FROM Track AS t ORDER BY minutes DESC LIMIT 5 OFFSET 2;

SELECT FirstName || ' ' || LastName AS customer, COALESCE(Company, 'private') AS company FROM Customer;

SELECT CASE WHEN UnitPrice > 1 THEN 'expensive' ELSE 'cheap' END AS band, COUNT(*) AS n
FROM Track GROUP BY band;

SELECT Country, COUNT(*) FILTER (WHERE Company IS NULL) AS private, COUNT(*) AS all_of_them
FROM Customer GROUP BY Country;

WITH totals AS (
    SELECT CustomerId, SUM(Total) AS spent FROM Invoice GROUP BY CustomerId
)
SELECT c.LastName, totals.spent
FROM totals JOIN Customer c USING (CustomerId)
WHERE totals.spent > (SELECT AVG(spent) FROM totals)
ORDER BY totals.spent DESC;

WITH RECURSIVE chain(EmployeeId, LastName, depth) AS (
    SELECT EmployeeId, LastName, 0 FROM Employee WHERE ReportsTo IS NULL
    UNION ALL
    SELECT e.EmployeeId, e.LastName, chain.depth + 1
    FROM Employee e JOIN chain ON e.ReportsTo = chain.EmployeeId
)
SELECT depth, COUNT(*) AS people FROM chain GROUP BY depth ORDER BY depth;

WITH numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 10)
SELECT n, n * n AS square FROM numbers;

SELECT InvoiceId, Total, SUM(Total) OVER (ORDER BY InvoiceId) AS running FROM Invoice;

SELECT Name, UnitPrice, RANK() OVER (PARTITION BY GenreId ORDER BY UnitPrice DESC, Name) AS place
FROM Track;

SELECT * FROM (
    SELECT AlbumId, Name, ROW_NUMBER() OVER (PARTITION BY AlbumId ORDER BY Milliseconds DESC) AS rn FROM Track
) WHERE rn = 1;

SELECT InvoiceId, Total - LAG(Total, 1, 0) OVER w AS change, LEAD(Total) OVER w AS next_total
FROM Invoice WINDOW w AS (PARTITION BY CustomerId ORDER BY InvoiceDate);

SELECT Name, NTILE(4) OVER (ORDER BY Bytes) AS quartile, PERCENT_RANK() OVER (ORDER BY Bytes) AS pr FROM Track;

SELECT AVG(Total) OVER (ORDER BY InvoiceDate ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving, InvoiceId
FROM Invoice ORDER BY InvoiceId;

SELECT Country FROM Customer UNION SELECT Country FROM Employee ORDER BY Country;

SELECT City FROM Customer INTERSECT SELECT City FROM Employee;

SELECT TrackId FROM Track EXCEPT SELECT TrackId FROM InvoiceLine ORDER BY TrackId LIMIT 5;

SELECT 'customer' AS kind, FirstName AS who FROM Customer
UNION ALL
SELECT 'employee', FirstName FROM Employee
ORDER BY kind, who;

SELECT e.LastName AS employee, m.LastName AS manager
FROM Employee e LEFT JOIN Employee m ON e.ReportsTo = m.EmployeeId;

SELECT * FROM Album NATURAL JOIN Artist WHERE Title LIKE 'Album%';

SELECT * FROM Track JOIN Album USING (AlbumId) ORDER BY TrackId LIMIT 4;

SELECT AlbumId, count(*) FROM Track JOIN Album USING (AlbumId) GROUP BY AlbumId;

SELECT c.CustomerId, (SELECT MAX(i.Total) FROM Invoice i WHERE i.CustomerId = c.CustomerId) AS biggest
FROM Customer c;

SELECT Name FROM Artist WHERE EXISTS (SELECT 1 FROM Album WHERE Album.ArtistId = Artist.ArtistId);

SELECT Name FROM Artist WHERE ArtistId NOT IN (SELECT ArtistId FROM Album);

SELECT Name FROM Track WHERE GenreId IS NULL OR Composer IS NOT NULL AND Composer LIKE '%öhler%';

SELECT Name FROM Track WHERE Name GLOB 'Track 1*' ORDER BY Name;

SELECT "Name", [Milliseconds], `Bytes` FROM "Track" WHERE "TrackId" BETWEEN 3 AND 6;

SELECT "产品 名称", SUM("数量") AS 合计 FROM "订单 明细" GROUP BY "产品 名称" ORDER BY 合计;

SELECT "Order" FROM "订单 明细" WHERE "数量" > 2 ORDER BY "Order" DESC;

SELECT json_extract(Payload, '$.kind') AS kind, SUM(json_extract(Payload, '$.amount')) AS amount
FROM Event GROUP BY kind;

SELECT Payload ->> '$.user.name' AS who, Payload -> 'tags' AS tags FROM Event;

SELECT e.EventId, j.value AS tag FROM Event e, json_each(e.Payload, '$.tags') AS j;

SELECT json_group_array(Name) AS names FROM (SELECT Name FROM Genre ORDER BY Name);

SELECT json_object('id', ArtistId, 'name', Name) AS o FROM Artist WHERE ArtistId < 3;

SELECT CAST(UnitPrice AS INTEGER) AS whole, CAST(TrackId AS TEXT) AS id, typeof(UnitPrice) AS t FROM Track LIMIT 3;

SELECT upper(Name), lower(Name), length(Name), substr(Name, 1, 3), trim(Name), replace(Name, 'a', 'b') FROM Genre;

SELECT instr(Email, '@') AS at, substr(Email, instr(Email, '@') + 1) AS host FROM Customer;

SELECT group_concat(Name, '; ') AS names FROM Genre WHERE GenreId < 4;

SELECT printf('%.2f', Total) AS shown, format('%05d', InvoiceId) AS code FROM Invoice LIMIT 4;

SELECT date(InvoiceDate, 'start of month') AS m, time(InvoiceDate) AS clock, julianday(InvoiceDate) AS j FROM Invoice;

SELECT CAST(strftime('%w', InvoiceDate) AS INTEGER) AS weekday, COUNT(*) AS n FROM Invoice GROUP BY weekday;

SELECT CAST((julianday('2026-01-01') - julianday(HireDate)) / 365.25 AS INTEGER) AS years FROM Employee;

SELECT MIN(InvoiceDate), MAX(InvoiceDate), AVG(Total), TOTAL(Total) FROM Invoice;

SELECT max(UnitPrice, 1.5) AS floor_price, min(Bytes, 4000000) AS small, iif(Bytes > 5000000, 'big', 'small') AS size
FROM Track;

SELECT g.Name, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM Track), 1) AS share
FROM Track t JOIN Genre g ON g.GenreId = t.GenreId GROUP BY g.Name;

SELECT Name FROM Artist ORDER BY Name COLLATE NOCASE DESC;

SELECT Name FROM Playlist ORDER BY Name NULLS LAST;

SELECT DISTINCT BillingCountry, BillingState FROM Invoice ORDER BY 1, 2;

SELECT Track.Name, Genre.Name FROM Track LEFT JOIN Genre ON Genre.GenreId = Track.GenreId;

SELECT t.*, g.Name AS genre FROM Track t JOIN Genre g USING (GenreId) WHERE t.TrackId < 5;

SELECT a.ArtistId, al.* FROM Artist a, Album al WHERE a.ArtistId = al.ArtistId AND a.Name = 'Accept';

SELECT COUNT(*) FROM Artist CROSS JOIN Genre;

SELECT p.Name, COUNT(pt.TrackId) AS tracks, SUM(t.Milliseconds) / 1000 AS seconds
FROM Playlist p
LEFT JOIN PlaylistTrack pt ON pt.PlaylistId = p.PlaylistId
LEFT JOIN Track t ON t.TrackId = pt.TrackId
GROUP BY p.PlaylistId
ORDER BY tracks DESC;

SELECT ar.Name, g.Name AS genre, SUM(il.UnitPrice * il.Quantity) AS revenue
FROM InvoiceLine il
JOIN Track t ON t.TrackId = il.TrackId
JOIN Album al ON al.AlbumId = t.AlbumId
JOIN Artist ar ON ar.ArtistId = al.ArtistId
LEFT JOIN Genre g ON g.GenreId = t.GenreId
GROUP BY ar.Name, g.Name
HAVING SUM(il.UnitPrice * il.Quantity) > 2
ORDER BY revenue DESC, 1, 2;

WITH monthly AS (
    SELECT strftime('%Y-%m', InvoiceDate) AS month, SUM(Total) AS total FROM Invoice GROUP BY 1
), ranked AS (
    SELECT month, total, RANK() OVER (ORDER BY total DESC) AS place FROM monthly
)
SELECT * FROM ranked WHERE place <= 3;

WITH Invoice AS (SELECT * FROM Track WHERE AlbumId = 3) SELECT COUNT(*) AS n, MIN(UnitPrice) FROM Invoice;

SELECT (SELECT COUNT(*) FROM Artist) AS artists, (SELECT COUNT(*) FROM Album) AS albums;

SELECT x.country, x.n FROM (SELECT Country AS country, COUNT(*) AS n FROM Customer GROUP BY Country) AS x WHERE x.n > 1;

VALUES (1, 'one'), (2, 'two');

SELECT column1 + 1 AS n FROM (VALUES (1), (2), (3)) AS v;

SELECT ((Total)) AS t, -Total AS minus, +Total AS plus, Total % 2 AS rest FROM Invoice WHERE NOT (Total < 3);

SELECT InvoiceId & 1 AS odd, InvoiceId | 8 AS b, InvoiceId << 2 AS c, ~InvoiceId AS d FROM Invoice LIMIT 3;

SELECT Country IS 'Germany' AS german, State IS NOT NULL AS has_state FROM Customer;

SELECT abs(-3), round(2.567, 1), ceil(1.2), floor(1.8), sqrt(16), power(2, 8), sign(-4), mod(7, 3);

SELECT nullif(Country, 'USA') AS c, ifnull(State, '?') AS s FROM Customer;

SELECT Country AS Name, COUNT(*) AS Country FROM Customer GROUP BY Name ORDER BY Country, Name;

SELECT Total AS x FROM Invoice WHERE x > 4 ORDER BY x;

SELECT hex(Name), quote(Name), unicode(Name), char(65, 66) FROM Artist;

SELECT first_value(Name) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS first_track,
       last_value(Name) OVER (PARTITION BY AlbumId ORDER BY TrackId
           ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_track,
       nth_value(Name, 2) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS second_track
FROM Track;

SELECT SUM(Total) FILTER (WHERE BillingCountry = 'Germany') AS german,
       SUM(CASE BillingCountry WHEN 'Brazil' THEN Total ELSE 0 END) AS brazilian
FROM Invoice;

SELECT main.Artist.Name FROM main.Artist WHERE main.Artist.ArtistId = 2;

SELECT artist.NAME, ARTIST.artistid FROM ARTIST ORDER BY artistid DESC;

SELECT unixepoch(InvoiceDate) AS epoch, datetime(unixepoch(InvoiceDate), 'unixepoch') AS back FROM Invoice LIMIT 2;

SELECT cume_dist() OVER (ORDER BY UnitPrice) AS cd, dense_rank() OVER (ORDER BY UnitPrice) AS dr, TrackId FROM Track;

SELECT t1.Name FROM Track t1 WHERE t1.Milliseconds > (
    SELECT AVG(t2.Milliseconds) FROM Track t2 WHERE t2.AlbumId = t1.AlbumId
) ORDER BY t1.Name;

SELECT c.Country, i.InvoiceId FROM Customer c LEFT JOIN (SELECT * FROM Invoice WHERE Total > 5) i ON i.CustomerId = c.CustomerId;

SELECT (Country, City) = ('USA', 'Boston') AS boston FROM Customer WHERE (Country, City) IN (SELECT 'USA', 'Boston' UNION SELECT 'Germany', 'Berlin');

SELECT COUNT(*) AS "count of it", SUM(Quantity) 'sum of it' FROM InvoiceLine;
