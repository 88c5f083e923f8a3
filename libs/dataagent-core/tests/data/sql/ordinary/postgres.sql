SELECT * FROM "Artist";

SELECT count(*) FROM "Track";

SELECT count(DISTINCT "Country") AS countries, count("Company") AS with_company FROM "Customer";

SELECT g."Name" AS genre, count(*) AS tracks FROM "Track" t JOIN "Genre" g ON g."GenreId" = t."GenreId"
GROUP BY g."Name" ORDER BY tracks DESC, genre;

SELECT date_trunc('month', "InvoiceDate") AS month, sum("Total") AS revenue FROM "Invoice" GROUP BY 1 ORDER BY 1;

SELECT to_char("InvoiceDate", 'YYYY-MM') AS month, round(avg("Total"), 2) AS average FROM "Invoice" GROUP BY month ORDER BY month;

SELECT extract(year FROM "InvoiceDate") AS y, extract(dow FROM "InvoiceDate") AS dow, count(*) FROM "Invoice" GROUP BY y, dow;

SELECT date_part('quarter', "InvoiceDate") AS q, sum("Total") FROM "Invoice" GROUP BY q HAVING sum("Total") > 10;

SELECT "BillingCountry", sum("Total") FILTER (WHERE "InvoiceDate" < '2022-01-01') AS old, sum("Total") AS all_time
FROM "Invoice" GROUP BY "BillingCountry";

SELECT "Name" FROM "Track" ORDER BY "Milliseconds" DESC, "TrackId" LIMIT 5 OFFSET 1;

SELECT "Name" FROM "Track" ORDER BY "TrackId" FETCH FIRST 3 ROWS ONLY;

SELECT "FirstName" || ' ' || "LastName" AS customer, coalesce("Company", 'private') FROM "Customer";

SELECT concat_ws(', ', "City", "State", "Country") AS place FROM "Customer";

SELECT CASE WHEN "Total" > 5 THEN 'big' WHEN "Total" > 2 THEN 'mid' ELSE 'small' END AS size, count(*) FROM "Invoice" GROUP BY size;

SELECT string_agg("Name", ', ' ORDER BY "Name" DESC) AS names, array_agg("GenreId" ORDER BY "GenreId") AS ids FROM "Genre";

SELECT "Country", string_agg(DISTINCT "City", '; ' ORDER BY "City") ILIKE '%o%' AS has_o FROM "Customer" GROUP BY "Country";

SELECT string_agg(DISTINCT "Country", ',') AS countries FROM "Customer";

WITH spent AS (SELECT "CustomerId", sum("Total") AS total FROM "Invoice" GROUP BY "CustomerId")
SELECT c."LastName", spent.total FROM spent JOIN "Customer" c USING ("CustomerId")
WHERE spent.total > (SELECT avg(total) FROM spent) ORDER BY total DESC;

WITH RECURSIVE boss(id, name, level) AS (
    SELECT "EmployeeId", "LastName", 1 FROM "Employee" WHERE "ReportsTo" IS NULL
    UNION ALL
    SELECT e."EmployeeId", e."LastName", boss.level + 1 FROM "Employee" e JOIN boss ON e."ReportsTo" = boss.id
)
SELECT level, count(*) AS people, min(name) FROM boss GROUP BY level ORDER BY level;

WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i * 2 FROM n WHERE i < 100) SELECT sum(i), max(i) FROM n;

WITH a AS MATERIALIZED (SELECT "ArtistId" AS id FROM "Artist"), b AS NOT MATERIALIZED (SELECT id + 1 AS id FROM a)
SELECT a.id FROM a JOIN b ON a.id = b.id ORDER BY a.id;

SELECT "InvoiceId", sum("Total") OVER (PARTITION BY "CustomerId" ORDER BY "InvoiceDate") AS running FROM "Invoice";

SELECT "Name", rank() OVER (ORDER BY "UnitPrice" DESC) AS r, row_number() OVER (ORDER BY "TrackId") AS rn FROM "Track";

SELECT "InvoiceId", "Total" - lag("Total", 1, 0.0) OVER w AS change, lead("Total") OVER w AS next, first_value("Total") OVER w
FROM "Invoice" WINDOW w AS (PARTITION BY "CustomerId" ORDER BY "InvoiceDate");

SELECT "InvoiceId", avg("Total") OVER (ORDER BY "InvoiceDate" RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW) AS month_average
FROM "Invoice";

SELECT "TrackId", sum("Bytes") OVER (ORDER BY "TrackId" GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) AS around FROM "Track";

SELECT "TrackId", ntile(4) OVER (ORDER BY "Bytes") AS quartile, percent_rank() OVER (ORDER BY "Bytes") FROM "Track";

SELECT DISTINCT ON ("CustomerId") "CustomerId", "InvoiceId", "Total" FROM "Invoice" ORDER BY "CustomerId", "Total" DESC, "InvoiceId";

SELECT "City" FROM "Customer" UNION SELECT "City" FROM "Employee" ORDER BY "City";

SELECT "City" FROM "Customer" INTERSECT ALL SELECT "City" FROM "Employee";

SELECT "TrackId" FROM "Track" EXCEPT SELECT "TrackId" FROM "InvoiceLine" ORDER BY 1 LIMIT 4;

(SELECT "Name" FROM "Genre" ORDER BY "Name" LIMIT 2) UNION ALL (SELECT "Name" FROM "MediaType" ORDER BY "Name" LIMIT 1);

SELECT "BillingCountry", "BillingCity", sum("Total") FROM "Invoice" GROUP BY ROLLUP ("BillingCountry", "BillingCity");

SELECT "BillingCountry", extract(year FROM "InvoiceDate") AS y, sum("Total"), grouping("BillingCountry") AS g
FROM "Invoice" GROUP BY GROUPING SETS (("BillingCountry"), (extract(year FROM "InvoiceDate")), ());

SELECT "MediaTypeId", "GenreId", count(*) FROM "Track" GROUP BY CUBE ("MediaTypeId", "GenreId");

SELECT e."LastName" AS employee, m."LastName" AS manager FROM "Employee" e LEFT JOIN "Employee" m ON m."EmployeeId" = e."ReportsTo";

SELECT * FROM "Album" JOIN "Artist" USING ("ArtistId") ORDER BY "AlbumId";

SELECT * FROM "Track" t JOIN "Album" a USING ("AlbumId") JOIN "Artist" r USING ("ArtistId") WHERE t."TrackId" < 4;

SELECT "ArtistId", count(*) FROM "Album" NATURAL JOIN "Artist" GROUP BY "ArtistId";

SELECT * FROM "Playlist" NATURAL FULL JOIN "PlaylistTrack" ORDER BY "PlaylistId", "TrackId";

SELECT coalesce(a."Name", '?'), b."Title" FROM "Artist" a FULL OUTER JOIN "Album" b ON a."ArtistId" = b."ArtistId" + 2;

SELECT c."LastName", last.total FROM "Customer" c
LEFT JOIN LATERAL (SELECT i."Total" AS total FROM "Invoice" i WHERE i."CustomerId" = c."CustomerId" ORDER BY i."InvoiceDate" DESC LIMIT 1) AS last ON true;

SELECT c."LastName", x.n FROM "Customer" c CROSS JOIN LATERAL (SELECT count(*) AS n FROM "Invoice" WHERE "CustomerId" = c."CustomerId") x;

SELECT "Name" FROM "Artist" a WHERE EXISTS (SELECT 1 FROM "Album" WHERE "ArtistId" = a."ArtistId" AND "Title" > 'Album C');

SELECT "Name" FROM "Artist" WHERE "ArtistId" <> ALL (SELECT "ArtistId" FROM "Album");

SELECT "Name" FROM "Genre" WHERE "GenreId" = ANY (ARRAY[1, 3]) OR "Name" = ANY ('{Blues}'::text[]);

SELECT "LastName" FROM "Customer" WHERE ("Country", "City") IN (('Germany', 'Berlin'), ('France', 'Paris'));

SELECT "Name" FROM "Track" WHERE "Name" ~ '^Track [0-2]' AND "Name" !~ '5$' ORDER BY "Name";

SELECT "Name" FROM "Artist" WHERE "Name" ILIKE 'a%' OR "Name" SIMILAR TO '%(Pure|Connor)' OR "Name" LIKE '100\%%';

SELECT regexp_replace("Email", '@.*$', '') AS local, substring("Email" FROM '@(.*)$') AS host, (regexp_match("Email", '(\d+)'))[1] AS n FROM "Customer";

SELECT split_part("Email", '@', 2) AS host, count(*) FROM "Customer" GROUP BY split_part("Email", '@', 2);

SELECT upper("Name"), lower("Name"), length("Name"), initcap("Name"), left("Name", 2), right("Name", 2), reverse("Name"), substr("Name", 2, 3) FROM "Artist";

SELECT lpad("GenreId"::text, 3, '0') AS code, repeat('*', "GenreId") AS stars, translate("Name", 'abc', 'xyz'), md5("Name") FROM "Genre";

SELECT position('r' IN "Name"), strpos("Name", 'a'), trim(both 'R' from "Name"), overlay("Name" placing 'XX' from 2 for 1) FROM "Genre";

SELECT format('%s (%s)', "Name", "GenreId") AS label, quote_literal("Name") FROM "Genre";

SELECT "InvoiceDate"::date AS d, "InvoiceDate" + interval '1 month' AS later, age(timestamp '2024-01-01', "InvoiceDate") AS age FROM "Invoice";

SELECT "HireDate" - "BirthDate" AS days, extract(epoch FROM ("HireDate"::timestamp - "BirthDate"::timestamp)) / 86400 AS same, make_date(2020, 1, 1) FROM "Employee";

SELECT d::date AS day, coalesce(sum(i."Total"), 0) AS total
FROM generate_series('2021-02-01'::timestamp, '2021-02-28', interval '7 days') AS d
LEFT JOIN "Invoice" i ON i."InvoiceDate" >= d AND i."InvoiceDate" < d + interval '7 days'
GROUP BY d ORDER BY d;

SELECT g.n, g.n * 2 AS double FROM generate_series(1, 5) AS g(n);

SELECT u.v, u.i FROM unnest(ARRAY['a', 'b', 'c']) WITH ORDINALITY AS u(v, i);

SELECT unnest(string_to_array('x,y,z', ',')) AS part;

SELECT "Payload" ->> 'kind' AS kind, sum(("Payload" ->> 'amount')::numeric) AS amount FROM "Event" GROUP BY kind;

SELECT "Payload" -> 'user' ->> 'name' AS who, "Payload" #>> '{user,id}' AS id, jsonb_array_length("Payload" -> 'tags') AS tags FROM "Event";

SELECT e."EventId", t.tag FROM "Event" e, jsonb_array_elements_text(e."Payload" -> 'tags') AS t(tag);

SELECT key, value FROM "Event", jsonb_each("Payload") WHERE "EventId" = 1;

SELECT "EventId" FROM "Event" WHERE "Payload" @> '{"kind": "buy"}' AND "Payload" ? 'tags' AND "Payload" -> 'user' ->> 'id' IN ('0', '1');

SELECT jsonb_build_object('id', "ArtistId", 'name', "Name") AS o FROM "Artist" WHERE "ArtistId" < 3;

SELECT jsonb_agg("Name" ORDER BY "Name") AS names, json_object_agg("GenreId", "Name") AS by_id FROM "Genre" WHERE "GenreId" < 3;

SELECT row_to_json(x) AS j FROM (SELECT "ArtistId" AS id, "Name" AS name FROM "Artist" WHERE "ArtistId" = 1) x;

SELECT to_jsonb(g) AS j FROM "Genre" g ORDER BY g."GenreId" LIMIT 2;

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY "Total") AS median, mode() WITHIN GROUP (ORDER BY "BillingCountry") AS most FROM "Invoice";

SELECT corr("Total", "InvoiceId"), stddev_samp("Total"), var_pop("Total"), regr_slope("Total", "InvoiceId"), bool_and("Total" > 0) FROM "Invoice";

SELECT "Total"::int AS i, "Total"::text AS t, cast('2021-01-01' AS date) AS d, '12.5'::numeric(10, 1) AS n, 't'::boolean AS b FROM "Invoice";

SELECT round("Total", 1), trunc("Total"), ceil("Total"), floor("Total"), mod("InvoiceId", 3), "InvoiceId" % 4, power(2, 3), sqrt(16), 2 ^ 3, abs(-1), sign(-2.5) FROM "Invoice";

SELECT greatest(1, 2, 3), least(1, 2), nullif(1, 1), width_bucket(5, 0, 10, 5), gcd(12, 18), div(7, 2), ln(1), log(100), pi() > 3;

SELECT "Name" FROM "Playlist" ORDER BY "Name" DESC NULLS LAST;

SELECT "Name" COLLATE "C" AS n FROM "Artist" ORDER BY n;

SELECT a."Name", b."Title" FROM "Artist" a JOIN "Album" b ON a."ArtistId" = b."ArtistId" ORDER BY "Name", "Title";

SELECT "Country" AS "Name", count(*) AS "Country" FROM "Customer" GROUP BY "Name" ORDER BY "Country" DESC, "Name";

SELECT "产品 名称", sum("数量") AS 合计 FROM "订单 明细" GROUP BY "产品 名称" ORDER BY 合计;

SELECT "Order" AS "order" FROM "订单 明细" WHERE "Order" IS DISTINCT FROM 'b' ORDER BY "order";

VALUES (1, 'one'), (2, 'two') ORDER BY 1;

SELECT v.id, v.label FROM (VALUES (1, 'one'), (2, 'two')) AS v(id, label) JOIN "Genre" ON "GenreId" = v.id;

SELECT column1, column2 FROM (VALUES (1, 'a'), (2, 'b')) AS t;

SELECT x.* FROM (SELECT t."TrackId", g."Name" FROM "Track" t LEFT JOIN "Genre" g ON g."GenreId" = t."GenreId") AS x(id, genre) WHERE x.id < 5;

SELECT (SELECT count(*) FROM "Artist") AS artists, (SELECT array_agg("GenreId" ORDER BY "GenreId") FROM "Genre") AS genres, ARRAY(SELECT "Name" FROM "MediaType" ORDER BY 1) AS media;

SELECT s.count, s.max FROM (SELECT count(*), max("Total") FROM "Invoice") AS s;

SELECT "Total" > 5 AS big, "Total" BETWEEN 2 AND 4 AS mid, NOT "Total" > 5 AS small, "BillingState" IS NULL AS stateless FROM "Invoice";

SELECT x FROM (SELECT "GenreId" AS x FROM "Genre") AS x ORDER BY x;

SELECT public."Artist"."Name" FROM public."Artist" WHERE public."Artist"."ArtistId" = 3;

SELECT array_length(tags, 1), tags[1], tags[1:2], 'b' = ANY (tags), tags || ARRAY['d'], array_to_string(tags, '-') FROM (SELECT ARRAY['a', 'b', 'c'] AS tags) q;

SELECT "InvoiceDate" AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Shanghai' AS shanghai FROM "Invoice" LIMIT 3;

SELECT count(*) FROM "Track" TABLESAMPLE BERNOULLI (100);

TABLE "MediaType";

SELECT count(*) FROM "Invoice" WHERE "InvoiceDate" < current_timestamp(0) AND "InvoiceDate" <= now() AND "InvoiceDate"::date < current_date;

SELECT count(g.*) AS n, count(*) FILTER (WHERE g IS NOT NULL) AS m FROM "Track" t LEFT JOIN "Genre" g ON g."GenreId" = t."GenreId";
