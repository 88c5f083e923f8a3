"use strict";

// A session per tab. The last `seq` seen lets a lost connection go on where it was; after a reload,
// ended turns come from the history and the turn that is still running from its events.
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const store = window.sessionStorage;
const sessionId = store.getItem("session_id") || newId();
store.setItem("session_id", sessionId);

const log = document.getElementById("log");
const statusLine = document.getElementById("status");
const form = document.getElementById("form");
const message = document.getElementById("message");
const stop = document.getElementById("stop");

let socket = null;
let lastSeq = 0;
let answer = null;
let runningAtLoad = null; // the run whose beginning this page has not seen
let replayUntil = 0;
let retryMilliseconds = 500;

function show(kind, text) {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = text;
  log.append(line);
  log.scrollTop = log.scrollHeight;
  return line;
}

function say(type, payload) {
  socket.send(JSON.stringify({ type, payload }));
}

function setRunning(isRunning) {
  stop.disabled = !isRunning;
  if (!isRunning) answer = null;
}

function ask(data) {
  const box = show("ask", `Allow ${data.action.name}? ${JSON.stringify(data.action.args)}\n`);
  for (const type of ["approve", "reject"]) {
    const button = document.createElement("button");
    button.textContent = type;
    button.addEventListener("click", () => {
      say("hitl_decision", { request_id: data.request_id, type });
      box.remove();
    });
    box.append(button);
  }
}

const shown = {
  connected(data) {
    statusLine.textContent = "connected";
    retryMilliseconds = 500;
    replayUntil = data.last_seq;
    setRunning(data.active_run !== null);
  },
  accepted() { setRunning(true); },
  text(data) {
    if (answer === null) answer = show("assistant", "");
    answer.textContent += data.content;
    log.scrollTop = log.scrollHeight;
  },
  tool_call(data) { answer = null; show("note", `→ ${data.tool_name}`); },
  tool_result(data) { show("note", `← ${data.tool_name}: ${data.status}`); },
  hitl_request: ask,
  error(data) { show("error", data.error); },
  done(data) {
    if (data.cancelled) show("note", "stopped");
    setRunning(false);
  },
};

function receive(frame) {
  const event = JSON.parse(frame.data);
  if (event.seq !== undefined) {
    if (event.seq <= lastSeq) return;
    lastSeq = event.seq;
    const isHistory = runningAtLoad !== null && event.seq <= replayUntil;
    if (isHistory && event.run_id !== runningAtLoad) return;
  }
  const handler = shown[event.event_type];
  if (handler) handler(event.data);
}

async function showHistory() {
  const answered = await fetch(`/api/v1/sessions/${sessionId}/messages?limit=1000`);
  if (!answered.ok) return;
  for (const item of (await answered.json()).items) {
    if (item.status === "running") runningAtLoad = item.run_id;
    else show(item.role, item.content);
  }
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const after = lastSeq > 0 || runningAtLoad !== null ? `?after=${lastSeq}` : "";
  socket = new WebSocket(`${scheme}://${location.host}/ws/chat/${sessionId}${after}`);
  socket.addEventListener("message", receive);
  socket.addEventListener("close", (event) => {
    if (event.code === 4401) {
      statusLine.textContent = "not logged in: open the link that `dataagent-server` printed";
      return;
    }
    statusLine.textContent = "connection lost, trying again …";
    setTimeout(connect, retryMilliseconds);
    retryMilliseconds = Math.min(retryMilliseconds * 2, 10000);
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text || socket.readyState !== WebSocket.OPEN) return;
  show("user", text);
  say("chat", { message: text, client_message_id: newId() });
  message.value = "";
});

message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    form.requestSubmit();
  }
});

stop.addEventListener("click", () => say("cancel", {}));

showHistory().finally(connect);
