// client.cjs drives a server with the TypeScript SDK, version 1 or 2, and
// prints a JSON line for each step.
//
//   node client.cjs 1|2 stdio COMMAND ARGS... | unix PATH | http URL
//
// The SDKs are found in the folder VISIONS_CLIENTS, the image is in IMAGE (a
// data URI), the model to be cancelled in MODEL.
const { createRequire } = require("node:module");
const net = require("node:net");
const path = require("node:path");

const find = createRequire(path.join(process.env.VISIONS_CLIENTS, "client.cjs"));
const [version, kind, ...address] = process.argv.slice(2);
const sdk = version === "1" ? sdk1() : sdk2();

function sdk1() {
  const at = (p) => find("@modelcontextprotocol/sdk/" + p);
  return {
    ...at("client/index.js"), ...at("client/stdio.js"), ...at("client/streamableHttp.js"), ...at("shared/stdio.js"),
    call: (client, params, options) => client.callTool(params, undefined, options),
  };
}

function sdk2() {
  const at = (p) => find("@modelcontextprotocol/client" + p);
  return { ...at(""), ...at("/stdio"), call: (client, params, options) => client.callTool(params, options) };
}

// SocketTransport is the SDK's stdio framing on a Unix socket.
class SocketTransport {
  constructor(path) {
    this.path = path;
    this.buffer = new sdk.ReadBuffer();
  }
  start() {
    return new Promise((resolve, reject) => {
      this.socket = net.connect(this.path, resolve);
      this.socket.on("error", reject);
      this.socket.on("close", () => this.onclose?.());
      this.socket.on("data", (chunk) => {
        this.buffer.append(chunk);
        for (let m = this.buffer.readMessage(); m !== null; m = this.buffer.readMessage()) this.onmessage?.(m);
      });
    });
  }
  send(message) {
    return new Promise((resolve, reject) => this.socket.write(sdk.serializeMessage(message), (err) => (err ? reject(err) : resolve())));
  }
  async close() {
    this.socket.end();
  }
}

function transport() {
  switch (kind) {
    case "stdio":
      return new sdk.StdioClientTransport({ command: address[0], args: address.slice(1), env: process.env, stderr: "inherit" });
    case "unix":
      return new SocketTransport(address[0]);
    case "http":
      return new sdk.StreamableHTTPClientTransport(new URL(address[0]));
  }
  throw new Error("unknown transport " + kind);
}

const say = (step, value) => console.log(JSON.stringify({ step, ...value }));

async function main() {
  const client = new sdk.Client({ name: "test", version: "1" });
  await client.connect(transport());
  const list = await client.listTools();
  say("list", { tools: list.tools.map((t) => t.name) });

  const image_source = process.env.IMAGE;
  const crop = { left: 1, top: 2, width: 20, height: 10 };
  const res = await sdk.call(client, { name: "preprocess_and_crop", arguments: { image_source, region: crop } });
  say("call", { structured: res.structuredContent, text: res.content[0].text, types: res.content.map((c) => c.type), mime: res.content[1]?.mimeType });

  const link = res.content.find((c) => c.type === "resource_link");
  const read = await client.readResource({ uri: link.uri });
  say("read", { bytes: Buffer.from(read.contents[0].blob, "base64").length, size: link.size, mime: read.contents[0].mimeType });

  const bad = await sdk.call(client, { name: "preprocess_and_crop", arguments: { image_source, region: { ...crop, width: 9999 } } });
  say("error", { isError: bad.isError, text: bad.content[0].text });

  const abort = new AbortController();
  const slow = { name: "analyze_image", arguments: { image_source, model: process.env.MODEL, prompt: "LOOP", num_predict: 8000 } };
  const onprogress = (p) => {
    if (/answering/.test(p.message) && !abort.signal.aborted) {
      abort.abort("enough");
      say("aborted", {});
    }
  };
  await sdk.call(client, slow, { signal: abort.signal, onprogress }).then(
    (r) => say("cancel", { answered: r.content[0].text }),
    (e) => say("cancel", { rejected: String(e.message ?? e) }),
  );
  // Version 1 forgets progress that arrives in one piece with the answer: a
  // model takes long enough.
  let progress = 0;
  const after = await sdk.call(client, { name: "analyze_image", arguments: { image_source, model: process.env.MODEL } }, { onprogress: () => progress++ });
  say("after", { progress, isError: after.isError ?? false, text: after.content[0].text });
  await client.close();
}

main().catch((e) => {
  console.error(e);
  process.exitCode = 1;
});
