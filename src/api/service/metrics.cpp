#include "api/service/metrics.h"

#include <cstdio>
#include <fstream>

#include <fmt/core.h>
#include <unistd.h>

namespace anedvd {
namespace {

// Bytes of this process in memory; 0 where the system does not tell.
uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * uint64_t(::sysconf(_SC_PAGESIZE));
}

// A label's value: \, " and line feeds escaped (exposition format 0.0.4).
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

void head(std::string& out, std::string_view name, std::string_view kind, std::string_view help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

struct ModelRow {
  std::string_view name, kind, help;
  double (*value)(const ModelMetrics&);
  std::string_view llamacpp = {}, vllm = {};  // what the peers call it
};

constexpr ModelRow kRows[] = {
    {"prompt_tokens_total", "counter", "Prompt tokens, cached ones included",
     [](const ModelMetrics& m) { return double(m.statistics.prompt_tokens); }, "llamacpp:prompt_tokens_total",
     "vllm:prompt_tokens_total"},
    {"prompt_tokens_cached_total",
     "counter",
     "Prompt tokens found in the cache",
     [](const ModelMetrics& m) { return double(m.statistics.reused_tokens); },
     {},
     "vllm:prefix_cache_hits_total"},
    {"tokens_predicted_total", "counter", "Generated tokens",
     [](const ModelMetrics& m) { return double(m.statistics.generated_tokens); }, "llamacpp:tokens_predicted_total",
     "vllm:generation_tokens_total"},
    {"prompt_seconds_total", "counter", "Time spent on prompts",
     [](const ModelMetrics& m) { return m.statistics.prefill_seconds; }, "llamacpp:prompt_seconds_total"},
    {"tokens_predicted_seconds_total", "counter", "Time spent on answers",
     [](const ModelMetrics& m) { return m.statistics.decode_seconds; }, "llamacpp:tokens_predicted_seconds_total"},
    {"spec_decode_num_draft_tokens_total",
     "counter",
     "Drafted tokens",
     [](const ModelMetrics& m) { return double(m.statistics.drafted_tokens); },
     {},
     "vllm:spec_decode_num_draft_tokens_total"},
    {"spec_decode_num_accepted_tokens_total",
     "counter",
     "Drafted tokens that were right",
     [](const ModelMetrics& m) { return double(m.statistics.accepted_tokens); },
     {},
     "vllm:spec_decode_num_accepted_tokens_total"},
    {"requests_processing", "gauge", "Answers under way",
     [](const ModelMetrics& m) { return double(m.statistics.running); }, "llamacpp:requests_processing",
     "vllm:num_requests_running"},
    {"requests_deferred", "gauge", "Requests that wait for a place",
     [](const ModelMetrics& m) { return double(m.statistics.waiting); }, "llamacpp:requests_deferred",
     "vllm:num_requests_waiting"},
    {"kv_cache_usage_ratio", "gauge", "Share of the cache in use",
     [](const ModelMetrics& m) {
       return m.statistics.kv_limit_bytes == 0 ? 0.0
                                               : double(m.statistics.kv_bytes) / double(m.statistics.kv_limit_bytes);
     },
     "llamacpp:kv_cache_usage_ratio", "vllm:kv_cache_usage_perc"},
    {"model_loaded", "gauge", "1 when the model is in memory",
     [](const ModelMetrics& m) { return m.is_loaded ? 1.0 : 0.0; }},
};

void write_rows(std::string& out, const std::vector<ModelMetrics>& models, MetricNames names) {
  for (const ModelRow& row : kRows) {
    const std::string_view peer = names == MetricNames::kLlamaCpp ? row.llamacpp
                                  : names == MetricNames::kVllm   ? row.vllm
                                                                  : "";
    for (const std::string& name : {fmt::format("anedvd:{}", row.name), std::string(peer)}) {
      if (name.empty()) continue;
      head(out, name, row.kind, row.help);
      const bool is_vllm = name.starts_with("vllm:");
      for (const ModelMetrics& model : models)
        out += fmt::format("{}{{{}=\"{}\"}} {}\n", name, is_vllm ? "model_name" : "model", escaped(model.id),
                           row.value(model));
    }
  }
}

std::string_view reason_of(int status) {
  switch (status) {
    case 401: return "key";
    case 403: return "host";
    case 413: return "too_large";
    case 429: return "queue_full";
    case 503:
    case 529: return "unavailable";
    default: return "invalid";
  }
}

}  // namespace

void Histogram::add(double value) {
  size_t at = 0;
  while (at < bounds_.size() && value > bounds_[at]) ++at;
  ++counts_[at];
  sum_ += value;
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  uint64_t total = 0;
  const std::string comma = labels.empty() ? "" : ",";
  for (size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    out += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  const std::string braces = labels.empty() ? "" : fmt::format("{{{}}}", labels);
  out += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, braces, sum_, name, braces, total);
}

void Metrics::finished(std::string_view route, int status, const RequestRecord& record, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(route), status}];
  if (status == 499) ++cancelled_;
  if (status >= 400 && status != 499) ++rejected_[std::string(reason_of(status))];
  if (record.kind.empty() || status != 200 || !record.note.empty()) return;
  AnswerHistograms& answers = answers_[record.model];
  answers.whole.add(seconds);
  if (record.first_token_s >= 0) answers.first_token.add(record.first_token_s);
  if (record.generated > 1) answers.between_tokens.add(record.decode_s / (record.generated - 1));
  if (record.prompt >= 0) answers.prompt_tokens.add(record.prompt);
  answers.generated_tokens.add(record.generated);
}

std::string Metrics::text(const std::vector<ModelMetrics>& models, MetricNames names) const {
  std::string out;
  write_rows(out, models, names);
  head(out, "anedvd:resident_memory_bytes", "gauge", "Memory of the process");
  out += fmt::format("anedvd:resident_memory_bytes {}\n", resident_bytes());
  const std::lock_guard lock(mutex_);
  head(out, "anedvd:requests_total", "counter", "Finished requests");
  for (const auto& [key, count] : requests_)
    out += fmt::format("anedvd:requests_total{{route=\"{}\",code=\"{}\"}} {}\n", escaped(key.first), key.second, count);
  head(out, "anedvd:requests_cancelled_total", "counter", "Requests whose client left");
  out += fmt::format("anedvd:requests_cancelled_total {}\n", cancelled_);
  head(out, "anedvd:requests_rejected_total", "counter", "Requests that were refused");
  for (const auto& [reason, count] : rejected_)
    out += fmt::format("anedvd:requests_rejected_total{{reason=\"{}\"}} {}\n", reason, count);
  static const AnswerHistograms none;
  const std::pair<std::string_view, const Histogram AnswerHistograms::*> histograms[] = {
      {"time_to_first_token_seconds", &AnswerHistograms::first_token},
      {"inter_token_latency_seconds", &AnswerHistograms::between_tokens},
      {"e2e_request_latency_seconds", &AnswerHistograms::whole},
      {"request_prompt_tokens", &AnswerHistograms::prompt_tokens},
      {"request_generation_tokens", &AnswerHistograms::generated_tokens},
  };
  for (const auto& [name, histogram] : histograms)
    for (const std::string_view prefix : {"anedvd", "vllm"}) {
      const bool is_vllm = prefix == "vllm";
      if (is_vllm && names != MetricNames::kVllm) continue;
      const std::string whole_name = fmt::format("{}:{}", prefix, name);
      head(out, whole_name, "histogram", "Of answers that were finished");
      for (const ModelMetrics& model : models) {
        const auto answers = answers_.find(model.id);
        const std::string label = fmt::format("{}=\"{}\"", is_vllm ? "model_name" : "model", escaped(model.id));
        ((answers == answers_.end() ? none : answers->second).*histogram).write(out, whole_name, label);
      }
    }
  return out;
}

}  // namespace anedvd
