SELECT * FROM Artist ORDER BY ArtistId;

SELECT COUNT(*) FROM Track;

SELECT COUNT(DISTINCT BillingCountry, BillingCity) AS places FROM Invoice;

SELECT g.Name AS genre, COUNT(*) AS tracks FROM Track t JOIN Genre g ON g.GenreId = t.GenreId
GROUP BY g.Name ORDER BY tracks DESC, genre;

SELECT DATE_FORMAT(InvoiceDate, '%Y-%m') AS month, SUM(Total) AS revenue FROM Invoice GROUP BY month ORDER BY month;

SELECT YEAR(InvoiceDate) AS y, QUARTER(InvoiceDate) AS q, COUNT(*) FROM Invoice GROUP BY y, q WITH ROLLUP;

SELECT BillingCountry, ROUND(AVG(Total), 2) AS average FROM Invoice GROUP BY BillingCountry HAVING average > 3;

SELECT `Name`, `UnitPrice` FROM `Track` WHERE `Milliseconds` > 300000 ORDER BY `UnitPrice` DESC, `Name` LIMIT 5;

SELECT Name FROM Track ORDER BY TrackId LIMIT 5, 3;

SELECT CONCAT(FirstName, ' ', LastName) AS customer, IFNULL(Company, '-') AS company FROM Customer;

SELECT CONCAT_WS(', ', City, State, Country) AS place FROM Customer WHERE Country IN ('Germany', 'Brazil');

SELECT IF(Total > 5, 'big', 'small') AS size, COUNT(*) AS n FROM Invoice GROUP BY size;

SELECT CASE BillingCountry WHEN 'USA' THEN 'us' WHEN 'Canada' THEN 'ca' ELSE 'other' END AS c, SUM(Total)
FROM Invoice GROUP BY c;

SELECT GROUP_CONCAT(Name ORDER BY Name DESC SEPARATOR ' | ') AS names FROM Genre;

SELECT Country, GROUP_CONCAT(DISTINCT City ORDER BY City) AS cities FROM Customer GROUP BY Country;

WITH spent AS (SELECT CustomerId, SUM(Total) AS total FROM Invoice GROUP BY CustomerId)
SELECT c.LastName, s.total FROM spent s JOIN Customer c ON c.CustomerId = s.CustomerId
WHERE s.total >= ALL (SELECT total FROM spent);

WITH RECURSIVE boss AS (
    SELECT EmployeeId, LastName, ReportsTo, 1 AS level FROM Employee WHERE ReportsTo IS NULL
    UNION ALL
    SELECT e.EmployeeId, e.LastName, e.ReportsTo, boss.level + 1 FROM Employee e JOIN boss ON e.ReportsTo = boss.EmployeeId
)
SELECT level, COUNT(*) AS people FROM boss GROUP BY level;

WITH RECURSIVE days (d) AS (
    SELECT DATE '2021-02-01' UNION ALL SELECT d + INTERVAL 1 DAY FROM days WHERE d < '2021-02-10'
)
SELECT d, DAYNAME(d) AS name, DAYOFWEEK(d) AS dow FROM days;

SELECT InvoiceId, SUM(Total) OVER (PARTITION BY CustomerId ORDER BY InvoiceDate) AS running FROM Invoice;

SELECT Name, RANK() OVER (ORDER BY Milliseconds DESC) AS r, DENSE_RANK() OVER (ORDER BY UnitPrice) AS dr FROM Track;

SELECT * FROM (
    SELECT CustomerId, InvoiceId, ROW_NUMBER() OVER (PARTITION BY CustomerId ORDER BY Total DESC, InvoiceId) AS rn FROM Invoice
) AS ranked WHERE rn <= 2;

SELECT InvoiceId, LAG(Total) OVER w AS before_it, LEAD(Total, 2) OVER w AS after_it
FROM Invoice WINDOW w AS (ORDER BY InvoiceId);

SELECT TrackId, NTILE(3) OVER (ORDER BY Bytes) AS third, PERCENT_RANK() OVER (ORDER BY Bytes) AS pr, CUME_DIST() OVER (ORDER BY Bytes) AS cd
FROM Track;

SELECT InvoiceId, AVG(Total) OVER (ORDER BY InvoiceId ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM Invoice;

SELECT FIRST_VALUE(Name) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS opener, NTH_VALUE(Name, 2) OVER (PARTITION BY AlbumId ORDER BY TrackId) AS second FROM Track;

SELECT City FROM Customer UNION SELECT City FROM Employee ORDER BY City;

SELECT City FROM Customer UNION ALL SELECT City FROM Employee ORDER BY 1 LIMIT 6;

SELECT CustomerId FROM Customer EXCEPT SELECT CustomerId FROM Invoice WHERE Total > 8;

SELECT TrackId FROM InvoiceLine INTERSECT SELECT TrackId FROM PlaylistTrack;

(SELECT Name FROM Genre ORDER BY Name LIMIT 2) UNION ALL (SELECT Name FROM MediaType ORDER BY Name LIMIT 1);

SELECT a.Name, b.Title FROM Artist a LEFT JOIN Album b ON a.ArtistId = b.ArtistId WHERE b.AlbumId IS NULL OR a.Name LIKE 'A%';

SELECT a.Name, b.Title FROM Album b RIGHT JOIN Artist a ON a.ArtistId = b.ArtistId;

SELECT * FROM Album JOIN Artist USING (ArtistId) ORDER BY AlbumId;

SELECT ArtistId, COUNT(*) AS n FROM Album NATURAL JOIN Artist GROUP BY ArtistId ORDER BY n DESC, ArtistId;

SELECT * FROM Playlist NATURAL LEFT JOIN PlaylistTrack;

SELECT e.LastName, m.LastName AS boss FROM Employee AS e LEFT JOIN Employee AS m ON m.EmployeeId = e.ReportsTo;

SELECT c.LastName, (SELECT COUNT(*) FROM Invoice i WHERE i.CustomerId = c.CustomerId) AS invoices FROM Customer c;

SELECT Name FROM Artist a WHERE NOT EXISTS (SELECT * FROM Album WHERE ArtistId = a.ArtistId);

SELECT Title FROM Album WHERE ArtistId IN (SELECT ArtistId FROM Artist WHERE Name LIKE '%c%');

SELECT LastName FROM Customer WHERE (Country, City) IN (('Germany', 'Berlin'), ('France', 'Paris'));

SELECT Name FROM Track WHERE Name REGEXP '^Track [0-3]' ORDER BY Name;

SELECT Name FROM Track WHERE Name NOT REGEXP '[0-9]{2}' AND Composer IS NOT NULL;

SELECT REGEXP_REPLACE(Email, '@.*$', '') AS local_part, REGEXP_SUBSTR(Email, '[0-9]+') AS digits FROM Customer;

SELECT SUBSTRING_INDEX(Email, '@', -1) AS host, COUNT(*) AS n FROM Customer GROUP BY host;

SELECT UPPER(Name), LOWER(Name), CHAR_LENGTH(Name), LENGTH(Name), REVERSE(Name), LEFT(Name, 2), RIGHT(Name, 2) FROM Artist;

SELECT LPAD(GenreId, 4, '0') AS code, RPAD(Name, 8, '.') AS padded, REPEAT('*', GenreId) AS stars FROM Genre;

SELECT TRIM(LEADING 'T' FROM Name) AS t, REPLACE(Name, 'Track', 'Song') AS s, LOCATE('1', Name) AS p, INSTR(Name, '2') AS q FROM Track;

SELECT SUBSTRING(Name, 1, 5) AS a, SUBSTRING(Name FROM 7) AS b, MID(Name, 2, 3) AS c FROM Track WHERE TrackId < 5;

SELECT FIELD(Name, 'Jazz', 'Rock') AS f, ELT(GenreId, 'a', 'b', 'c') AS e, FIND_IN_SET(Name, 'Rock,Jazz') AS s FROM Genre;

SELECT DATE(InvoiceDate) AS d, TIME(InvoiceDate) AS t, HOUR(InvoiceDate) AS h, DAYOFYEAR(InvoiceDate) AS n FROM Invoice;

SELECT DATEDIFF('2022-01-01', InvoiceDate) AS days, TIMESTAMPDIFF(MONTH, InvoiceDate, '2024-01-01') AS months FROM Invoice;

SELECT DATE_ADD(HireDate, INTERVAL 3 MONTH) AS probation, DATE_SUB(HireDate, INTERVAL 1 YEAR) AS earlier, LAST_DAY(HireDate) AS month_end FROM Employee;

SELECT EXTRACT(YEAR FROM HireDate) AS y, EXTRACT(YEAR_MONTH FROM HireDate) AS ym, MONTHNAME(HireDate) AS m FROM Employee;

SELECT STR_TO_DATE('31/12/2021', '%d/%m/%Y') AS d, UNIX_TIMESTAMP('2021-01-01 00:00:00') - UNIX_TIMESTAMP('2020-12-31 00:00:00') AS s;

SELECT COUNT(*) AS n FROM Invoice WHERE InvoiceDate BETWEEN '2021-06-01' AND '2021-12-31 23:59:59';

SELECT WEEK(InvoiceDate, 3) AS week, WEEKDAY(InvoiceDate) AS weekday, SUM(Total) AS total FROM Invoice GROUP BY week, weekday;

SELECT JSON_EXTRACT(Payload, '$.user.id') AS user, COUNT(*) AS n FROM Event GROUP BY user;

SELECT JSON_UNQUOTE(JSON_EXTRACT(Payload, '$.kind')) AS kind, SUM(JSON_VALUE(Payload, '$.amount')) AS amount FROM Event GROUP BY kind;

SELECT EventId, JSON_LENGTH(Payload, '$.tags') AS tags, JSON_CONTAINS(Payload, '"t0"', '$.tags') AS has_t0 FROM Event;

SELECT e.EventId, j.tag FROM Event e, JSON_TABLE(e.Payload, '$.tags[*]' COLUMNS (tag VARCHAR(10) PATH '$')) AS j;

SELECT JSON_OBJECT('id', ArtistId, 'name', Name) AS o, JSON_ARRAY(ArtistId, Name) AS a FROM Artist;

SELECT JSON_ARRAYAGG(Name) AS names, JSON_OBJECTAGG(GenreId, Name) AS by_id FROM Genre WHERE GenreId = 2;

SELECT CAST(UnitPrice AS SIGNED) AS s, CAST(TrackId AS CHAR) AS c, CAST('2021-03-04' AS DATE) AS d, CAST(Total AS DECIMAL(12, 1)) AS r
FROM Track JOIN Invoice ON InvoiceId = TrackId;

SELECT CONVERT(UnitPrice, CHAR) AS a, CONVERT(Name USING utf8mb4) AS b FROM Track WHERE TrackId = 7;

SELECT ROUND(Total, 1), TRUNCATE(Total, 1), CEIL(Total), FLOOR(Total), Total DIV 2, Total MOD 2, ABS(-Total), POW(Total, 2), SQRT(Total) FROM Invoice;

SELECT LOG(100), LOG(2, 8), LOG10(1000), LN(1), EXP(0), SIGN(-2), GREATEST(1, 3, 2), LEAST(4, 2), CONV(255, 10, 16), CRC32('x');

SELECT STDDEV_SAMP(Total) AS sd, VAR_POP(Total) AS v, STD(Total) AS s, BIT_OR(InvoiceId) AS bits FROM Invoice;

SELECT NULLIF(Country, 'USA') AS a, COALESCE(State, Company, 'none') AS b, ISNULL(State) AS c, State <=> NULL AS d FROM Customer;

SELECT Name FROM Artist ORDER BY Name COLLATE utf8mb4_bin;

SELECT Name FROM Artist ORDER BY FIELD(ArtistId, 3, 1, 2) DESC, Name;

SELECT Total > 5 AS big, NOT Total > 5 AS small, Total > 5 XOR InvoiceId > 10 AS either, Total BETWEEN 2 AND 4 AS mid FROM Invoice;

SELECT Country AS Name, COUNT(*) AS Country FROM Customer GROUP BY Name ORDER BY Name;

SELECT t.*, a.Title FROM Track t INNER JOIN Album a USING (AlbumId) WHERE a.AlbumId = 4;

SELECT name, NAME AS N2, Track.NAME FROM Track WHERE TRACKID = 3;

SELECT `产品 名称`, SUM(`数量`) AS `合计 数` FROM `订单 明细` GROUP BY `产品 名称` ORDER BY `合计 数` DESC;

SELECT `Order` FROM `订单 明细` WHERE `产品 名称` = "茶叶" ORDER BY `Order`;

SELECT LastName FROM Customer WHERE Country = "Germany" OR Company = 'Company ''x''' OR City = 'Montr\u00e9al';

SELECT p.Name, SUM(t.Milliseconds) / 60000 AS minutes FROM Playlist p
JOIN PlaylistTrack pt ON pt.PlaylistId = p.PlaylistId JOIN Track t ON t.TrackId = pt.TrackId
GROUP BY p.PlaylistId, p.Name ORDER BY minutes DESC;

SELECT DISTINCT BillingCountry FROM Invoice WHERE BillingState IS NULL ORDER BY BillingCountry;

SELECT ar.Name, SUM(il.UnitPrice * il.Quantity) AS revenue, SUM(il.UnitPrice * il.Quantity) / (SELECT SUM(UnitPrice * Quantity) FROM InvoiceLine) AS share
FROM InvoiceLine il JOIN Track t USING (TrackId) JOIN Album al USING (AlbumId) JOIN Artist ar USING (ArtistId)
GROUP BY ar.ArtistId, ar.Name ORDER BY revenue DESC;

SELECT x.n, x.m FROM (SELECT 1 AS n, 'a' AS m UNION ALL SELECT 2, 'b') AS x WHERE x.n > 1;

SELECT (SELECT MAX(Total) FROM Invoice) - (SELECT MIN(Total) FROM Invoice) AS spread;

SELECT BillingCountry, SUM(CASE WHEN YEAR(InvoiceDate) = 2021 THEN Total ELSE 0 END) AS y2021, SUM(IF(YEAR(InvoiceDate) = 2022, Total, 0)) AS y2022
FROM Invoice GROUP BY BillingCountry;

SELECT MD5(Email) AS m, SHA2(Email, 256) AS s, HEX(FirstName) AS h, TO_BASE64(LastName) AS b FROM Customer;

SELECT COUNT(*) FROM Artist, Genre, MediaType;

SELECT Quantity * UnitPrice AS amount FROM InvoiceLine WHERE Quantity & 1 = 1 AND InvoiceLineId % 2 = 0 ORDER BY amount DESC, InvoiceLineId;

SELECT DATE_ADD('2020-01-31', INTERVAL 1 MONTH) AS d, VERSIONED.x FROM (SELECT 1 AS x FROM DUAL) AS VERSIONED;
