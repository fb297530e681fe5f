import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { followService } from "./follow-service.ts";

async function listen(word: string): Promise<{ port: number; close: () => void }> {
  const server = createServer((socket) => socket.end(word)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

async function said(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe("the way to a Service", () => {
  it("leads to the address that it has now: refused at the old one, or without an answer there", async () => {
    const server = await listen("hello");
    let host = "first.invalid";
    let asked = 0;
    const lookUp = async (): Promise<string> => {
      asked++;
      return host;
    };
    // What is at no address: the one refuses, the other says nothing.
    const reach = async (address: { host: string; port: number }): Promise<Socket> => {
      if (address.host === "silent.invalid") return new Promise<Socket>(() => undefined);
      if (address.host !== "127.0.0.1") throw new Error(`nothing is at ${address.host}`);
      const socket = connect(address);
      await once(socket, "connect");
      return socket;
    };
    const way = followService(reach, lookUp, server.port);
    await expect(way()).rejects.toThrow("nothing is at first.invalid");
    host = "127.0.0.1";
    expect(await said(await way())).toBe("hello");
    asked = 0;
    expect(await said(await way())).toBe("hello");
    expect(asked).toBe(0);

    host = "silent.invalid";
    const other = followService(reach, lookUp, server.port);
    const waiting = other();
    host = "127.0.0.1";
    expect(await said(await waiting)).toBe("hello");
    server.close();
  });
});
