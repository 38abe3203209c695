"""Several sandboxes at once, on one event loop."""

import asyncio

from agent_sandbox import AsyncClient, AsyncSandbox


async def square(client: AsyncClient, number: int) -> str:
    async with AsyncSandbox.create(client=client) as box:
        return (await box.run(f"echo $(({number} * {number}))")).check().stdout.strip()


async def main() -> None:
    async with AsyncClient() as client:
        print(await asyncio.gather(*(square(client, number) for number in range(1, 5))))


asyncio.run(main())
