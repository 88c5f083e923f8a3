"""The eleven tables of Chinook, as SQLite statements in the order in which they can be filled."""

from __future__ import annotations

SCHEMA: dict[str, str] = {
    "Artist": """
        ArtistId INTEGER NOT NULL PRIMARY KEY,
        Name NVARCHAR(120)""",
    "Album": """
        AlbumId INTEGER NOT NULL PRIMARY KEY,
        Title NVARCHAR(160) NOT NULL,
        ArtistId INTEGER NOT NULL REFERENCES Artist (ArtistId)""",
    "Genre": """
        GenreId INTEGER NOT NULL PRIMARY KEY,
        Name NVARCHAR(120)""",
    "MediaType": """
        MediaTypeId INTEGER NOT NULL PRIMARY KEY,
        Name NVARCHAR(120)""",
    "Track": """
        TrackId INTEGER NOT NULL PRIMARY KEY,
        Name NVARCHAR(200) NOT NULL,
        AlbumId INTEGER REFERENCES Album (AlbumId),
        MediaTypeId INTEGER NOT NULL REFERENCES MediaType (MediaTypeId),
        GenreId INTEGER REFERENCES Genre (GenreId),
        Composer NVARCHAR(220),
        Milliseconds INTEGER NOT NULL,
        Bytes INTEGER,
        UnitPrice NUMERIC(10,2) NOT NULL""",
    "Playlist": """
        PlaylistId INTEGER NOT NULL PRIMARY KEY,
        Name NVARCHAR(120)""",
    "PlaylistTrack": """
        PlaylistId INTEGER NOT NULL REFERENCES Playlist (PlaylistId),
        TrackId INTEGER NOT NULL REFERENCES Track (TrackId),
        PRIMARY KEY (PlaylistId, TrackId)""",
    "Employee": """
        EmployeeId INTEGER NOT NULL PRIMARY KEY,
        LastName NVARCHAR(20) NOT NULL,
        FirstName NVARCHAR(20) NOT NULL,
        Title NVARCHAR(30),
        ReportsTo INTEGER REFERENCES Employee (EmployeeId),
        BirthDate DATETIME,
        HireDate DATETIME,
        Address NVARCHAR(70),
        City NVARCHAR(40),
        State NVARCHAR(40),
        Country NVARCHAR(40),
        PostalCode NVARCHAR(10),
        Phone NVARCHAR(24),
        Fax NVARCHAR(24),
        Email NVARCHAR(60)""",
    "Customer": """
        CustomerId INTEGER NOT NULL PRIMARY KEY,
        FirstName NVARCHAR(40) NOT NULL,
        LastName NVARCHAR(20) NOT NULL,
        Company NVARCHAR(80),
        Address NVARCHAR(70),
        City NVARCHAR(40),
        State NVARCHAR(40),
        Country NVARCHAR(40),
        PostalCode NVARCHAR(10),
        Phone NVARCHAR(24),
        Fax NVARCHAR(24),
        Email NVARCHAR(60) NOT NULL,
        SupportRepId INTEGER REFERENCES Employee (EmployeeId)""",
    "Invoice": """
        InvoiceId INTEGER NOT NULL PRIMARY KEY,
        CustomerId INTEGER NOT NULL REFERENCES Customer (CustomerId),
        InvoiceDate DATETIME NOT NULL,
        BillingAddress NVARCHAR(70),
        BillingCity NVARCHAR(40),
        BillingState NVARCHAR(40),
        BillingCountry NVARCHAR(40),
        BillingPostalCode NVARCHAR(10),
        Total NUMERIC(10,2) NOT NULL""",
    "InvoiceLine": """
        InvoiceLineId INTEGER NOT NULL PRIMARY KEY,
        InvoiceId INTEGER NOT NULL REFERENCES Invoice (InvoiceId),
        TrackId INTEGER NOT NULL REFERENCES Track (TrackId),
        UnitPrice NUMERIC(10,2) NOT NULL,
        Quantity INTEGER NOT NULL""",
}

INDEXES = (
    ("Album", "ArtistId"),
    ("Track", "AlbumId"),
    ("Track", "GenreId"),
    ("Track", "MediaTypeId"),
    ("PlaylistTrack", "TrackId"),
    ("Employee", "ReportsTo"),
    ("Customer", "SupportRepId"),
    ("Invoice", "CustomerId"),
    ("InvoiceLine", "InvoiceId"),
    ("InvoiceLine", "TrackId"),
)
"""Foreign keys, as Chinook indexes them."""
