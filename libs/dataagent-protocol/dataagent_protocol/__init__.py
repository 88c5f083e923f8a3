"""What a DataAgent server and its clients exchange: events, approvals and errors.

Plain data without LangChain or a database: a client needs nothing else of the product.
"""
