"""Sessions in MySQL: a conversation that another process, or the next start, goes on with."""

import asyncio
import os

from dataagent_core.engine import AgentConfig
from dataagent_core.events import TextEvent
from dataagent_core.session import SessionManager, SessionStoreFactory


async def main() -> None:
    store = SessionStoreFactory.create(
        "mysql",
        host=os.environ.get("DATAAGENT_MYSQL_HOST", "localhost"),
        port=int(os.environ.get("DATAAGENT_MYSQL_PORT", "3306")),
        user=os.environ.get("DATAAGENT_MYSQL_USER", "root"),
        password=os.environ.get("DATAAGENT_MYSQL_PASSWORD", ""),
        database=os.environ.get("DATAAGENT_MYSQL_DATABASE", "dataagent"),
    )
    await store.init_tables()
    manager = SessionManager(store)
    session = await manager.get_or_create_session("ann", "helper")
    executor = await manager.get_executor(session, AgentConfig("helper", user_id="ann"))
    async for event in executor.execute("hello", session.session_id):
        if isinstance(event, TextEvent):
            print(event.content, end="")
    print()
    sessions = await store.list_by_user("ann")
    print(f"{len(sessions)} session of ann")
    await manager.close()
    await store.close()


asyncio.run(main())
