"""Carries connections from the machine's loopback to the API server in the cluster's network namespace.

The listening socket was opened outside and inherited: no interface, route or rule is needed on the machine.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from harness.network import SERVICE_ADDRESS


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        far_reader, far_writer = await asyncio.open_connection(SERVICE_ADDRESS, 443)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _serve(handle: int) -> None:
    server = await asyncio.start_server(_carry, sock=socket.socket(fileno=handle))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
