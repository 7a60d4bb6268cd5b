// A small real model behind Ollama's protocol, on loopback, one request at a time.
//   THREADS=1 node server.mjs PORT MODEL.gguf NAME
// Port 0 takes a free one. Prints one line of JSON once it listens: {"port": ..., "name": ...}.
// Knows POST /api/chat (streamed or not, JSON schema by grammar), POST /api/show, GET /api/tags and
// GET /api/version. Must lie beside the node_modules folder that holds node-llama-cpp.

import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { getLlama, LlamaChatSession, LlamaLogLevel } from "node-llama-cpp";

const CONTEXT = 2048; // tokens of prompt and answer; the model was trained with no more
const MAX_TOKENS = 256; // when the request names no limit

const [port, path, name] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: path });
const context = await model.createContext({
  contextSize: CONTEXT,
  sequences: 1,
  threads: Number(process.env.THREADS ?? 1),
});
const sequence = context.getSequence();
const digest = crypto.createHash("sha256").update(fs.readFileSync(path)).digest("hex");
const listed = {
  name,
  model: name,
  modified_at: fs.statSync(path).mtime.toISOString(),
  size: fs.statSync(path).size,
  digest,
  details: { format: "gguf" },
};

// ---- JSON schema -> grammar ---------------------------------------------------------------------

// Keeps what the grammar compiler knows: it has no $ref, no bounds of numbers, no uniqueItems.
function plain(schema, root = schema) {
  if (schema.$ref) return plain(root.$defs[schema.$ref.split("/").pop()], root);
  if (schema.allOf?.length === 1) return plain(schema.allOf[0], root);
  if (schema.const !== undefined) return { const: schema.const };
  if (schema.enum) return { enum: schema.enum };
  if (schema.anyOf) return { oneOf: schema.anyOf.map((part) => plain(part, root)) };
  const pick = (...keys) =>
    Object.fromEntries(keys.filter((key) => schema[key] != null).map((key) => [key, schema[key]]));
  switch (schema.type) {
    case "object": {
      const entries = Object.entries(schema.properties ?? {});
      const properties = Object.fromEntries(entries.map(([key, part]) => [key, plain(part, root)]));
      return { type: "object", properties };
    }
    case "array":
      return {
        type: "array",
        items: plain(schema.items ?? { type: "string" }, root),
        ...pick("minItems", "maxItems"),
      };
    case "string":
      return { type: "string", ...pick("minLength", "maxLength") };
    default:
      return { type: schema.type ?? "string" };
  }
}

const grammars = new Map(); // compiling one takes longer than a short answer

async function grammarFor(format) {
  if (!format) return undefined;
  const key = JSON.stringify(format);
  if (!grammars.has(key)) {
    const made =
      format === "json"
        ? llama.getGrammarFor("json")
        : llama.createGrammarForJsonSchema(plain(format));
    grammars.set(key, await made);
  }
  return grammars.get(key);
}

// ---- answering ----------------------------------------------------------------------------------

function historyOf(messages) {
  return messages.map(({ role, content }) =>
    role === "assistant" ? { type: "model", response: [content] } : { type: role, text: content },
  );
}

async function chat(request, response) {
  const options = request.options ?? {};
  const stream = request.stream ?? true;
  const grammar = await grammarFor(request.format);
  const started = performance.now();
  let first = 0;
  let tokens = 0;
  const head = () => ({ model: name, created_at: new Date().toISOString() });
  const write = (content) =>
    response.write(
      JSON.stringify({ ...head(), message: { role: "assistant", content }, done: false }) + "\n",
    );
  if (stream) response.writeHead(200, { "Content-Type": "application/x-ndjson" });

  // A client that gave up must not keep the model busy.
  const gone = new AbortController();
  response.on("close", () => gone.abort());

  await sequence.clearHistory();
  const session = new LlamaChatSession({
    contextSequence: sequence,
    autoDisposeSequence: false,
    systemPrompt: "", // else node-llama-cpp adds one of its own
  });
  session.setChatHistory(historyOf(request.messages.slice(0, -1)));
  const answer = await session.promptWithMeta(request.messages.at(-1).content, {
    grammar,
    maxTokens: options.num_predict > 0 ? options.num_predict : MAX_TOKENS,
    temperature: options.temperature ?? 0.8,
    seed: options.seed,
    topK: options.top_k ?? 40,
    topP: options.top_p ?? 0.9,
    customStopTriggers: options.stop,
    signal: gone.signal,
    stopOnAbortSignal: true,
    onToken: (made) => {
      first ||= performance.now();
      tokens += made.length;
    },
    onTextChunk: (text) => stream && write(text),
  });
  session.dispose({ disposeSequence: false });

  const end = performance.now();
  const nanoseconds = (from, to) => Math.round((to - from) * 1e6);
  const prompt = request.messages.map((message) => message.content).join("\n");
  const last = {
    ...head(),
    message: { role: "assistant", content: stream ? "" : answer.responseText },
    done: true,
    done_reason: answer.stopReason === "maxTokens" ? "length" : "stop",
    total_duration: nanoseconds(started, end),
    load_duration: 0,
    prompt_eval_count: model.tokenize(prompt).length,
    prompt_eval_duration: nanoseconds(started, first || end),
    eval_count: tokens,
    eval_duration: nanoseconds(first || end, end),
  };
  if (stream) response.end(JSON.stringify(last) + "\n");
  else json(response, last);
}

// ---- HTTP ---------------------------------------------------------------------------------------

function json(response, value, status = 200) {
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
}

function fail(response, error) {
  console.error(error);
  if (response.headersSent) response.end(JSON.stringify({ error: String(error) }) + "\n");
  else json(response, { error: String(error) }, 500);
}

let lane = Promise.resolve(); // one answer after the other: there is one sequence

function post(url, body, response) {
  let request;
  try {
    request = JSON.parse(body);
  } catch (error) {
    return json(response, { error: String(error) }, 400);
  }
  if (request.model !== name)
    return json(response, { error: `model '${request.model}' not found` }, 404);
  if (url === "/api/show")
    return json(response, {
      details: listed.details,
      model_info: { "general.context_length": CONTEXT },
      capabilities: ["completion"],
    });
  if (url !== "/api/chat") return json(response, { error: "404 page not found" }, 404);
  lane = lane.then(() => chat(request, response)).catch((error) => fail(response, error));
}

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    if (request.method === "POST") post(request.url, body, response);
    else if (request.url === "/api/tags") json(response, { models: [listed] });
    else if (request.url === "/api/version") json(response, { version: "0.0.0-small" });
    else response.end("Ollama is running");
  });
});

process.on("SIGTERM", () => process.exit(0));
server.listen(Number(port), "127.0.0.1", () =>
  console.log(JSON.stringify({ port: server.address().port, name })),
);
