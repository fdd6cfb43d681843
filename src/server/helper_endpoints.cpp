// llama-server's helpers, and what tells about the server itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "server/chat_prompt.h"
#include "server/sampling.h"
#include "server/service.h"

namespace smoe::server {
namespace {

std::string rfc3339(uint64_t unix_time) {
  const auto time = static_cast<std::time_t>(unix_time);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string token_text(const Tokenizer& tokenizer, const std::optional<TokenId>& token) {
  return token ? std::string(tokenizer.bytes_of(*token)) : "";
}

// The body and the model that it names.
struct HelperCall {
  Json body;
  ModelLease model;
};
ApiResult<HelperCall> helper_call(Service& service, const Exchange& exchange) {
  SMOE_API_TRY(Json body, parse_body(exchange.request().body));
  Fields fields(body);
  const std::string name = fields.text("model").value_or("");
  if (fields.error()) return *fields.error();
  SMOE_API_TRY(ModelLease model, service.fleet.acquire(name));
  return HelperCall{std::move(body), std::move(model)};
}

// A piece that is no whole text is a list of its bytes.
void write_piece(JsonWriter& json, std::string_view piece) {
  if (is_utf8(piece)) {
    json.value(piece);
    return;
  }
  json.begin_array();
  for (const char byte : piece) json.value(uint32_t{static_cast<uint8_t>(byte)});
  json.end_array();
}

void write_model(JsonWriter& json, const ModelEntry& entry, const ModelLease& open) {
  const bool loaded = open != nullptr && open->id() == entry.id;
  const uint64_t created = open == nullptr ? 0 : open->opened_at();
  json.begin_object().member("id", std::string_view(entry.id)).member("object", "model");
  json.member("type", "model").member("display_name", std::string_view(entry.id));
  json.member("created", created).member("created_at", std::string_view(rfc3339(created)));
  json.member("owned_by", "smoe").key("status").begin_object();
  json.member("value", loaded ? "loaded" : "unloaded").end_object();
  if (loaded) {
    const ModelSpec& spec = open->engine().spec();
    json.key("meta").begin_object();
    json.member("n_vocab", spec.vocabulary).member("n_ctx", open->engine().context());
    json.member("n_ctx_train", spec.context).member("n_embd", spec.width);
    json.member("n_params", spec.parameters());
    json.member("n_active_params", spec.active_parameters()).end_object();
  }
  json.end_object();
}

void write_memory_plan(JsonWriter& json, const MemoryPlan& plan) {
  json.begin_object().member("budget_bytes", plan.budget_bytes);
  json.member("scout_bytes", plan.scout_bytes).member("kv_bytes", plan.kv_bytes);
  json.member("scratch_bytes", plan.scratch_bytes).member("ring_bytes", plan.ring_bytes);
  json.member("ring_slots", plan.ring_slots()).member("records", plan.records).end_object();
}

bool is_busy(const SlotSnapshot& slot) { return slot.state != SlotSnapshot::State::kIdle; }

uint64_t busy_slots(const SchedulerSnapshot& snapshot) {
  return static_cast<uint64_t>(
      std::count_if(snapshot.slots.begin(), snapshot.slots.end(), is_busy));
}

ApiError nothing_open() { return {.status = 503, .message = "Loading model"}; }

void write_engine_metrics(MetricsText& text, const SchedulerSnapshot& snapshot) {
  using Type = MetricsText::Type;
  const auto one = [&](std::string_view name, Type type, std::string_view help, uint64_t value) {
    text.family(name, type, help).sample(static_cast<double>(value));
  };
  const StreamStats& stream = snapshot.stream;
  one("smoe_prompt_tokens_total", Type::kCounter, "Prompt tokens of requests that were begun.",
      snapshot.prompt_tokens);
  one("smoe_prompt_tokens_cached_total", Type::kCounter,
      "Of these, tokens found in the prefix cache.", snapshot.cached_tokens);
  one("smoe_tokens_predicted_total", Type::kCounter, "Tokens of answers.", snapshot.answer_tokens);
  one("smoe_requests_processing", Type::kGauge, "Answers being computed.", busy_slots(snapshot));
  one("smoe_requests_deferred", Type::kGauge, "Requests in the queue.", snapshot.queued);
  one("smoe_requests_failed_total", Type::kCounter, "Answers that ended with an error.",
      snapshot.failed);
  one("smoe_requests_cancelled_total", Type::kCounter, "Answers nobody waited for any more.",
      snapshot.cancelled);
  one("smoe_prefix_cache_queries_total", Type::kCounter, "Prompts looked up in the prefix cache.",
      snapshot.prefix_queries);
  one("smoe_prefix_cache_hits_total", Type::kCounter, "Of these, prompts with a cached prefix.",
      snapshot.prefix_hits);
  one("smoe_expert_hits_total", Type::kCounter, "Experts that were in memory when needed.",
      stream.hits);
  one("smoe_expert_misses_total", Type::kCounter, "Experts that had to be read.",
      stream.demands - std::min(stream.hits, stream.demands));
  one("smoe_expert_bytes_read_total", Type::kCounter, "Bytes of experts read from disk.",
      stream.bytes_read);
  one("smoe_vault_read_retries_total", Type::kCounter, "Reads that were repeated.", stream.retries);
  text.family("smoe_expert_read_seconds_total", Type::kCounter, "Time of all reads, summed.")
      .sample(static_cast<double>(stream.read_ns) * 1e-9);
  text.family("smoe_expert_wait_seconds_total", Type::kCounter, "Time steps waited for experts.")
      .sample(static_cast<double>(stream.wait_ns) * 1e-9);
  text.family("smoe_kv_pages", Type::kGauge, "Pages of the KV cache by use.")
      .sample(static_cast<double>(snapshot.kv_pages_free), label("use", "free"))
      .sample(static_cast<double>(snapshot.kv_pages_cached), label("use", "prefix"))
      .sample(static_cast<double>(snapshot.kv_pages - snapshot.kv_pages_free -
                                  snapshot.kv_pages_cached),
              label("use", "answer"));
}

void write_ring_metrics(MetricsText& text, const Engine& engine) {
  std::array<uint64_t, 3> counts{};
  engine.look([&](const RecordSight& sight) { ++counts.at(static_cast<size_t>(sight.state)); });
  const uint64_t taken = counts[0] + counts[1] + counts[2];
  const uint64_t slots = engine.plan().ring_slots();
  text.family("smoe_ring_slots", MetricsText::Type::kGauge, "Slots of the ring by state.")
      .sample(static_cast<double>(slots - std::min(taken, slots)), label("state", "empty"))
      .sample(static_cast<double>(counts[0]), label("state", "loading"))
      .sample(static_cast<double>(counts[1]), label("state", "fresh"))
      .sample(static_cast<double>(counts[2]), label("state", "used"));
}

}  // namespace

void answer_json(const ExchangePtr& exchange, std::string json, unsigned status) {
  exchange->respond({status, {{"content-type", "application/json"}}, std::move(json) + "\n"});
}

void answer_error(const ExchangePtr& exchange, const ApiError& error) {
  exchange->respond(error_response(error, style_of(exchange->request().path)));
}

void show_health(Service& service, const ExchangePtr& exchange) {
  if (service.fleet.state() != FleetState::kLoading)
    return answer_json(exchange, R"({"status":"ok"})");
  HttpResponse response{503, {{"content-type", "application/json"}, {"retry-after", "1"}}, {}};
  response.body = R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})"
                  "\n";
  exchange->respond(std::move(response));
}

void list_models(Service& service, const ExchangePtr& exchange) {
  constexpr std::string_view kOne = "/v1/models/";
  const std::string& path = exchange->request().path;
  const ModelLease open = service.fleet.current();
  JsonWriter json;
  if (path.starts_with(kOne)) {
    const std::string id = path.substr(kOne.size());
    for (const ModelEntry& entry : service.fleet.models()) {
      if (entry.id != id) continue;
      write_model(json, entry, open);
      return answer_json(exchange, json.take());
    }
    return answer_error(exchange, {.status = 404,
                                   .message = "there is no model '" + id + "'",
                                   .param = "model",
                                   .code = "model_not_found"});
  }
  json.begin_object().member("object", "list").key("data").begin_array();
  for (const ModelEntry& entry : service.fleet.models()) write_model(json, entry, open);
  json.end_array().member("has_more", false);
  json.member("first_id", std::string_view(service.fleet.models().front().id));
  json.member("last_id", std::string_view(service.fleet.models().back().id)).end_object();
  answer_json(exchange, json.take());
}

void tokenize(Service& service, const ExchangePtr& exchange) {
  auto call = helper_call(service, *exchange);
  if (!call) return answer_error(exchange, call.error());
  Fields fields(call->body);
  const auto content = fields.text("content");
  if (!content) fields.fail("content", "is missing");
  const Tokenizer::Encode options{fields.flag("add_special").value_or(false),
                                  fields.flag("parse_special").value_or(true)};
  const bool with_pieces = fields.flag("with_pieces").value_or(false);
  if (fields.error()) return answer_error(exchange, *fields.error());
  const Tokenizer& tokenizer = call->model->tokenizer();
  const auto tokens = tokenizer.encode(*content, options);
  if (!tokens)
    return answer_error(exchange, {.message = tokens.error().message, .param = "content"});
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const TokenId token : *tokens) {
    if (!with_pieces) {
      json.value(uint64_t{index_of(token)});
      continue;
    }
    json.begin_object().member("id", uint64_t{index_of(token)}).key("piece");
    write_piece(json, tokenizer.bytes_of(token));
    json.end_object();
  }
  json.end_array().end_object();
  answer_json(exchange, json.take());
}

void detokenize(Service& service, const ExchangePtr& exchange) {
  auto call = helper_call(service, *exchange);
  if (!call) return answer_error(exchange, call.error());
  Fields fields(call->body);
  const Json* list = fields.array("tokens");
  if (list == nullptr) fields.fail("tokens", "is no array of token ids");
  if (fields.error()) return answer_error(exchange, *fields.error());
  std::vector<TokenId> tokens;
  for (const Json& item : list->items()) {
    const auto id = item.is_number() ? item.as_uint() : std::nullopt;
    if (!id || *id > UINT32_MAX)
      return answer_error(exchange,
                          {.message = "tokens has an item that is no token id", .param = "tokens"});
    tokens.push_back(TokenId{static_cast<uint32_t>(*id)});
  }
  JsonWriter json;
  json.begin_object();
  json.member("content", std::string_view(call->model->tokenizer().decode(tokens, false)));
  json.end_object();
  answer_json(exchange, json.take());
}

void apply_template(Service& service, const ExchangePtr& exchange) {
  auto call = helper_call(service, *exchange);
  if (!call) return answer_error(exchange, call.error());
  Fields fields(call->body);
  const ChatWishes wishes = read_chat_wishes(fields);
  if (fields.error()) return answer_error(exchange, *fields.error());
  const auto conversation = openai_conversation(call->body);
  if (!conversation) return answer_error(exchange, conversation.error());
  const auto chat = render_chat(*call->model, *conversation, wishes);
  if (!chat) return answer_error(exchange, chat.error());
  JsonWriter json;
  json.begin_object().member("prompt", std::string_view(chat->text)).end_object();
  answer_json(exchange, json.take());
}

namespace {

// What --kv-disk-dir holds, and how much of the day's budget is written.
void write_disk(JsonWriter& json, const std::optional<PrefixStoreStats>& disk) {
  json.key("prefix_disk");
  if (!disk) {
    json.null();
    return;
  }
  json.begin_object().member("space_bytes", disk->space_bytes);
  json.member("held_bytes", disk->held_bytes).member("day_bytes", disk->day_bytes);
  json.member("today_bytes", disk->today_bytes).member("pages_written", disk->pages_written);
  json.member("pages_read", disk->pages_read).member("pages_damaged", disk->pages_damaged);
  json.end_object();
}

}  // namespace

void show_props(Service& service, const ExchangePtr& exchange) {
  const ModelLease model = service.fleet.current();
  if (model == nullptr) return answer_error(exchange, nothing_open());
  const SchedulerSnapshot snapshot = model->scheduler().snapshot();
  const Engine& engine = model->engine();
  const ModelSpec& spec = engine.spec();
  const Tokenizer& tokenizer = model->tokenizer();
  JsonWriter json;
  json.begin_object().key("default_generation_settings").begin_object();
  json.member("n_ctx", engine.context()).key("params");
  write_sampling(json, model->sampling());
  json.end_object();
  json.member("total_slots", uint64_t{snapshot.slots.size()});
  json.member("model_path", std::string_view(model->folder().string()));
  json.member("model_alias", std::string_view(model->id()));
  json.member("chat_template", std::string_view(model->template_source()));
  json.member("bos_token", std::string_view(token_text(tokenizer, model->ends().bos)));
  json.member("eos_token", std::string_view(token_text(tokenizer, model->ends().eos)));
  json.member("build_info", std::string_view(service.options.version));
  json.key("modalities").begin_object();
  json.member("vision", false).member("audio", false).end_object();
  json.key("model").begin_object().member("family", std::string_view(spec.family));
  json.member("layers", uint64_t{spec.layers.size()});
  json.member("expert_layers", spec.expert_layers()).member("parameters", spec.parameters());
  json.member("active_parameters", spec.active_parameters());
  json.member("tool_format", model->tool_format() == nullptr ? "" : model->tool_format()->name);
  json.end_object().key("memory");
  write_memory_plan(json, engine.plan());
  write_disk(json, snapshot.disk);
  json.member("stream", std::string_view(engine.stream_description()));
  json.key("requests").begin_object().member("processing", busy_slots(snapshot));
  json.member("deferred", uint64_t{snapshot.queued});
  json.member("connections", uint64_t{service.connections()}).end_object();
  json.key("models").begin_array();
  for (const ModelEntry& entry : service.fleet.models()) json.value(std::string_view(entry.id));
  json.end_array().end_object();
  answer_json(exchange, json.take());
}

void show_slots(Service& service, const ExchangePtr& exchange) {
  const ModelLease model = service.fleet.current();
  if (model == nullptr) return answer_error(exchange, nothing_open());
  const SchedulerSnapshot snapshot = model->scheduler().snapshot();
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < snapshot.slots.size(); ++i) {
    const SlotSnapshot& slot = snapshot.slots[i];
    json.begin_object().member("id", uint64_t{i});
    json.member("id_task",
                static_cast<int64_t>(is_busy(slot) ? static_cast<int64_t>(slot.request) : -1));
    json.member("n_ctx", model->engine().context()).member("is_processing", is_busy(slot));
    json.member("state", slot.state == SlotSnapshot::State::kPrompt ? "prompt"
                         : is_busy(slot)                            ? "answer"
                                                                    : "idle");
    json.member("n_prompt_tokens", uint64_t{slot.prompt_tokens});
    json.member("n_prompt_tokens_cache", uint64_t{slot.cached_tokens});
    json.member("n_past", uint64_t{slot.computed_tokens});
    json.member("n_decoded", uint64_t{slot.answer_tokens});
    json.member("elapsed_ms",
                is_busy(slot) ? seconds_between(slot.started_ns, now_ns()) * 1000 : 0.0);
    json.end_object();
  }
  json.end_array();
  answer_json(exchange, json.take());
}

void show_metrics(Service& service, const ExchangePtr& exchange) {
  if (!service.options.metrics)
    return answer_error(exchange, {.status = 501, .message = "--metrics turns this on"});
  using Type = MetricsText::Type;
  MetricsText text;
  text.family("smoe_build_info", Type::kGauge, "The version that runs.")
      .sample(1, label("version", service.options.version));
  text.family("smoe_connections", Type::kGauge, "Open connections.")
      .sample(static_cast<double>(service.connections()));
  service.metrics.write(text);
  if (const ModelLease model = service.fleet.current()) {
    write_engine_metrics(text, model->scheduler().snapshot());
    write_ring_metrics(text, model->engine());
  }
  exchange->respond({200, {{"content-type", "text/plain; version=0.0.4"}}, text.take()});
}

}  // namespace smoe::server
