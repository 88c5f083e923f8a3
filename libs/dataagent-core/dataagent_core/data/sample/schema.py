"""The eleven tables of Chinook as SQLite statements, in the order in which they can be filled.

SQLite keeps no comments; the catalogue takes them from here, in English and Chinese, so that a
question in either language finds its column.
"""

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


_BILLING = "where the invoice was sent"

SAMPLE_COMMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "Artist": (
        "Artists and bands / 艺术家、歌手、乐队",
        {"ArtistId": "Artist number / 艺术家编号", "Name": "Name of the artist / 艺术家名称"},
    ),
    "Album": (
        "Albums of an artist / 专辑、唱片",
        {
            "AlbumId": "Album number / 专辑编号",
            "Title": "Title of the album / 专辑标题",
            "ArtistId": "Who made it / 艺术家编号",
        },
    ),
    "Genre": (
        "Genres of music and video / 流派、音乐类型、曲风",
        {"GenreId": "Genre number / 流派编号", "Name": "Name of the genre / 流派名称"},
    ),
    "MediaType": (
        "File formats in which tracks are sold / 媒体类型、文件格式",
        {
            "MediaTypeId": "Media type number / 媒体类型编号",
            "Name": "Name of the format / 格式名称",
        },
    ),
    "Track": (
        "Tracks: the songs and videos on sale / 曲目、歌曲、音轨、产品",
        {
            "TrackId": "Track number / 曲目编号",
            "Name": "Title of the track / 曲目名称、歌名",
            "AlbumId": "Album it is on / 专辑编号",
            "MediaTypeId": "Format it is sold in / 媒体类型编号",
            "GenreId": "Genre it belongs to / 流派编号",
            "Composer": "Who wrote it / 作曲者",
            "Milliseconds": "Length in milliseconds / 时长（毫秒）",
            "Bytes": "Size of the file in bytes / 文件大小（字节）",
            "UnitPrice": "Price of one copy in US dollars / 单价、价格（美元）",
        },
    ),
    "Playlist": (
        "Playlists put together by the shop / 播放列表、歌单",
        {
            "PlaylistId": "Playlist number / 播放列表编号",
            "Name": "Name of the playlist / 播放列表名称",
        },
    ),
    "PlaylistTrack": (
        "Which track is on which playlist / 播放列表曲目",
        {"PlaylistId": "Playlist / 播放列表编号", "TrackId": "Track / 曲目编号"},
    ),
    "Employee": (
        "Employees of the shop and whom they report to / 员工、雇员、职员",
        {
            "EmployeeId": "Employee number / 员工编号",
            "LastName": "Family name / 姓",
            "FirstName": "Given name / 名",
            "Title": "Job title / 职位、职务",
            "ReportsTo": "Employee number of the superior / 上级、主管",
            "BirthDate": "Date of birth / 出生日期、生日",
            "HireDate": "Date of hire / 入职日期",
            "Address": "Street address / 地址",
            "City": "City / 城市",
            "State": "State or province / 省、州",
            "Country": "Country / 国家",
            "PostalCode": "Postal code / 邮编",
            "Phone": "Telephone / 电话",
            "Fax": "Fax / 传真",
            "Email": "E-mail address / 电子邮箱",
        },
    ),
    "Customer": (
        "Customers who buy tracks / 客户、顾客、买家",
        {
            "CustomerId": "Customer number / 客户编号",
            "FirstName": "Given name / 名",
            "LastName": "Family name / 姓",
            "Company": "Company, if any / 公司",
            "Address": "Street address / 地址",
            "City": "City of the customer / 城市",
            "State": "State or province / 省、州",
            "Country": "Country of the customer / 国家",
            "PostalCode": "Postal code / 邮编",
            "Phone": "Telephone / 电话",
            "Fax": "Fax / 传真",
            "Email": "E-mail address / 电子邮箱",
            "SupportRepId": "Employee who looks after the customer / 客服代表、负责员工",
        },
    ),
    "Invoice": (
        "Invoices: one purchase of a customer each / 发票、订单、销售、购买",
        {
            "InvoiceId": "Invoice number / 发票编号、订单号",
            "CustomerId": "Who bought / 客户编号",
            "InvoiceDate": "Date of the purchase / 发票日期、购买日期、销售日期",
            "BillingAddress": f"Street address {_BILLING} / 账单地址",
            "BillingCity": f"City {_BILLING} / 账单城市",
            "BillingState": f"State or province {_BILLING} / 账单省、州",
            "BillingCountry": f"Country {_BILLING} / 账单国家",
            "BillingPostalCode": f"Postal code {_BILLING} / 账单邮编",
            "Total": "Amount of the invoice in US dollars / 金额、总额、销售额、收入（美元）",
        },
    ),
    "InvoiceLine": (
        "Lines of the invoices: which track, how many, at what price / 发票明细、订单明细、销量",
        {
            "InvoiceLineId": "Line number / 明细编号",
            "InvoiceId": "Invoice it is on / 发票编号",
            "TrackId": "Track that was sold / 曲目编号",
            "UnitPrice": "Price of one copy in US dollars / 单价（美元）",
            "Quantity": "Copies sold / 数量、销量",
        },
    ),
}
