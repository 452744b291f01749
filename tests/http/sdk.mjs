// The official JavaScript SDKs against a running server; prints "ok" at the end. Run by acceptance_test.py in a folder with both packages:
//
//     node sdk.mjs http://127.0.0.1:8080 MODEL
import assert from "node:assert";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [url, model] = process.argv.slice(2);
const messages = [{role: "user", content: "hi there"}];
const openai = new OpenAI({baseURL: url + "/v1", apiKey: "any", maxRetries: 0});
const anthropic = new Anthropic({baseURL: url, apiKey: "any", maxRetries: 0});

const chat = await openai.chat.completions.create({model, messages, max_tokens: 6});
assert.equal(chat.usage.total_tokens, chat.usage.prompt_tokens + chat.usage.completion_tokens);

const chunks = [];
for await (const chunk of await openai.chat.completions.create({model, messages, max_tokens: 6, stream: true})) chunks.push(chunk);
assert.equal(chunks[0].choices[0].delta.role, "assistant");
assert.ok(["stop", "length"].includes(chunks.at(-1).choices[0].finish_reason));

const types = [];
for await (const event of await openai.responses.create({model, input: "hi", max_output_tokens: 6, stream: true})) types.push(event.type);
assert.equal(types[0], "response.created");
assert.match(types.at(-1), /^response\.(completed|incomplete)$/);

// The SDK asks for base64 when nobody says anything.
const embeddings = await openai.embeddings.create({model, input: ["a", "b"]});
assert.equal(embeddings.data[1].embedding.length, 128);

const message = await anthropic.messages.stream({model: "claude-x", max_tokens: 6, messages}).finalMessage();
assert.ok(message.usage.output_tokens > 0);
const counted = await anthropic.messages.countTokens({model: "claude-x", messages});
assert.equal(counted.input_tokens, chat.usage.prompt_tokens);

await assert.rejects(openai.chat.completions.create({model, messages, temperature: -1}), {status: 400, param: "temperature"});
await assert.rejects(anthropic.messages.create({model: "nobody", max_tokens: 6, messages}), {status: 404});
console.log("ok");
