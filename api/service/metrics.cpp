#include "api/service/metrics.hpp"

#include <cstdio>

#include "api/service/state.hpp"

namespace kiln::service {
namespace {

std::string number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.12g", value);
  return digits;
}

// A label's value between quotes.
std::string label_value(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') out += "\\n"; else out += c;
  }
  return out + '"';
}

class Exposition {
 public:
  void counter(const char* name, const char* help, std::uint64_t value) { one(name, "counter", help, value); }
  void gauge(const char* name, const char* help, std::uint64_t value) { one(name, "gauge", help, value); }
  void family(const std::string& name, const char* type, const char* help) {
    text_ += "# HELP kiln_" + name + " " + help + "\n# TYPE kiln_" + name + " " + type + "\n";
  }
  void sample(const std::string& name, const std::string& labels, const std::string& value) {
    text_ += "kiln_" + name + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
  }
  void raw(const std::string& samples) { text_ += samples; }
  std::string take() { return std::move(text_); }

 private:
  void one(const char* name, const char* type, const char* help, std::uint64_t value) {
    family(name, type, help);
    sample(name, "", std::to_string(value));
  }
  std::string text_;
};

void add_service(Exposition& out, ServiceState& state) {
  const std::lock_guard lock(state.mutex);
  std::uint64_t buffers = 0, events = 0, streams = 0;
  for (const auto& [id, connection] : state.connections) {
    buffers += connection->buffers.size();
    events += connection->events.size();
    streams += connection->streams.size();
  }
  out.gauge("connections", "Connections that are open.", state.connections.size());
  out.counter("requests_total", "Requests that arrived.", state.requests);
  out.counter("request_errors_total", "Requests that were answered with an error.", state.errors);
  out.gauge("requests_running", "Requests without an answer.", state.running);
  out.counter("launches_total", "Launches that were begun.", state.launches);
  out.gauge("buffers", "Buffers that clients hold.", buffers);
  out.gauge("buffer_bytes", "Bytes of those buffers.", state.memory->used());
  out.gauge("buffer_bytes_max", "The most bytes that clients may hold.", state.memory->bytes_max());
  out.gauge("events", "Events that clients hold.", events);
  out.gauge("streams", "Streams of clients.", streams);
}

void add_tier(Exposition& out, const jit::TierStats& tier) {
  out.gauge("tier_up", "1 where the remote tier is asked, 0 while it is left alone after failures.", tier.state == "down" ? 0 : 1);
  out.counter("tier_hits_total", "Kernels that came from the remote tier.", tier.hits);
  out.counter("tier_misses_total", "Kernels that the remote tier did not have.", tier.misses);
  out.counter("tier_errors_total", "Answers of the remote tier that failed, or were none.", tier.errors);
  out.counter("tier_timeouts_total", "Answers of the remote tier that did not come in time.", tier.timeouts);
  out.counter("tier_refused_total", "Answers of the remote tier that were no sound entry, or that nobody vouched for.", tier.refused);
  out.counter("tier_skipped_total", "Kernels that the remote tier was not asked for.", tier.skipped);
  out.counter("tier_stored_total", "Kernels that were put into the remote tier.", tier.stored);
  out.counter("tier_dropped_total", "Kernels that were not put into the remote tier.", tier.dropped);
  out.gauge("tier_queued", "Kernels that wait to be put into the remote tier.", tier.queued);
}

void add_session(Exposition& out, const jit::SessionStats& stats) {
  out.counter("compile_requests_total", "Requests for kernels.", stats.requests);
  out.counter("memory_hits_total", "Requests for kernels that were answered from memory.", stats.memory_hits);
  out.counter("compiles_joined_total", "Requests for kernels that waited for another one's compile.", stats.joined);
  out.gauge("kernels_loaded", "Kernels that devices hold.", stats.kernels_loaded);
  const auto& pool = stats.pool;
  out.counter("compiles_total", "Compiles.", pool.compiles);
  out.counter("compile_failures_total", "Compiles that failed.", pool.failures);
  out.gauge("compiles_running", "Compiles that run.", pool.running);
  out.gauge("compiles_queued", "Compiles that wait for a worker.", pool.queued);
  out.counter("workers_started_total", "Compile workers that were started.", pool.started);
  out.counter("workers_recycled_total", "Compile workers that were ended after many compiles.", pool.recycled);
  out.counter("worker_deaths_total", "Compile workers that died.", pool.deaths);
  const auto& store = stats.store;
  out.counter("cache_hits_total", "Lookups in the cache that found a kernel.", store.hits);
  out.counter("cache_misses_total", "Lookups in the cache that found none.", store.misses);
  out.counter("cache_stores_total", "Kernels that were stored.", store.stores);
  out.counter("cache_store_failures_total", "Kernels that could not be stored.", store.store_failures);
  out.counter("cache_evictions_total", "Entries that were evicted.", store.evictions);
  out.counter("cache_quarantined_total", "Damaged entries that were set aside.", store.quarantined);
  out.gauge("cache_entries", "Entries in the cache.", store.entries);
  out.gauge("cache_bytes", "Bytes of those entries.", store.bytes);
  out.gauge("cache_bytes_max", "The most bytes that the cache may have.", store.bytes_max);
  out.gauge("cache_writable", "1 where compiled kernels are stored, 0 where they are served uncached.", store.writable ? 1 : 0);
  std::uint64_t layer_hits = 0, layers_unused = 0;
  for (const auto& layer : store.layers) {
    layer_hits += layer.hits;
    layers_unused += layer.problem.empty() ? 0 : 1;
  }
  out.counter("layer_hits_total", "Kernels that came from read-only layers.", layer_hits);
  out.gauge("layers_unused", "Layers that are set and cannot be used.", layers_unused);
  if (stats.tier) add_tier(out, *stats.tier);
}

void add_server(Exposition& out, const protocol::Json& stats) {
  out.counter("connections_total", "Connections that were accepted.", stats.value("connections_total", std::uint64_t(0)));
  out.counter("connections_refused_total", "Connections that were refused.", stats.value("connections_refused", std::uint64_t(0)));
}

// Methods that were never called are left out.
void add_times(Exposition& out, const RequestTimes& times) {
  out.family("request_duration_seconds", "histogram", "From a request's arrival to its answer, by method.");
  for (std::size_t i = 0; i < times.histograms().size(); ++i) {
    const auto& histogram = times.histograms()[i];
    const auto method = "method=" + label_value(i < methods().size() ? methods()[i].name : "unknown");
    std::uint64_t so_far = 0;
    std::string buckets;
    for (std::size_t b = 0; b < histogram.buckets.size(); ++b) {
      so_far += histogram.buckets[b];
      const bool last = b == RequestTimes::bounds_s.size();
      buckets += "kiln_request_duration_seconds_bucket{" + method + ",le=" + label_value(last ? "+Inf" : number(RequestTimes::bounds_s[b])) +
                 "} " + std::to_string(so_far) + "\n";
    }
    if (so_far == 0) continue;
    out.raw(buckets);
    out.sample("request_duration_seconds_sum", method, number(double(histogram.total_us) * 1e-6));
    out.sample("request_duration_seconds_count", method, std::to_string(so_far));
  }
}

}  // namespace

RequestTimes::RequestTimes() : histograms_(methods().size() + 1) {}

void RequestTimes::add(const MethodInfo* method, double milliseconds) {
  auto& histogram = histograms_[method ? std::size_t(method - methods().data()) : methods().size()];
  std::size_t bucket = 0;
  while (bucket < bounds_s.size() && milliseconds * 1e-3 > bounds_s[bucket]) ++bucket;
  histogram.buckets[bucket].fetch_add(1, std::memory_order_relaxed);
  histogram.total_us.fetch_add(std::uint64_t(milliseconds * 1e3), std::memory_order_relaxed);
}

std::string metrics_text(ServiceState& state) {
  Exposition out;
  out.family("build_info", "gauge", "The build that serves.");
  out.sample("build_info", "build=" + label_value(state.options.build_id), "1");
  add_service(out, state);
  if (state.options.server_stats) add_server(out, state.options.server_stats());
  add_session(out, state.session->stats());
  add_times(out, state.times);
  return out.take();
}

void engine_metrics(const CallPtr& call) {
  call->answer(protocol::Json{{"content_type", metrics_content_type}, {"text", metrics_text(call->state)}});
}

}  // namespace kiln::service
