#include "api/cli/configurations.hpp"

#include <algorithm>
#include <charconv>

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::string_view candidates_pointer = "/params/candidates/";

// Of the settings of one program those that differ from the request's.
Json differing(const Json& set, const Json& base) {
  Json own = Json::object();
  for (const auto& [name, value] : set.items())
    if (!base.contains(name) || base[name] != value) own[name] = value;
  return own;
}

// Errors that are about what was asked, and not about the service or the machine.
bool about_request(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::parse_error:
    case ErrorCode::program_invalid:
    case ErrorCode::unsupported:
    case ErrorCode::resource_limit:
    case ErrorCode::compile_failed:
    case ErrorCode::launch_failed:
    case ErrorCode::assertion_failed: return true;
    default: return false;
  }
}

// The place of the candidate that an error is about: the one that it points at, else the first, whose program the
// request is.
std::size_t faulty(const Error& error, std::size_t count) {
  for (const auto& d : error.diagnostics) {
    if (!d.pointer.starts_with(candidates_pointer)) continue;
    std::size_t index = count;
    const char* first = d.pointer.data() + candidates_pointer.size();
    std::from_chars(first, d.pointer.data() + d.pointer.size(), index);
    if (index < count) return index;
  }
  return 0;
}

// Whether it is the service's last word on each candidate: none runs rightly.
bool tells_of_all(const Error& error, const Json& candidates) {
  if (error.code != ErrorCode::launch_failed) return false;
  return std::all_of(candidates.begin(), candidates.end(), [&](const Json& candidate) {
    const auto head = candidate.value("name", "") + ": ";
    return std::any_of(error.context.begin(), error.context.end(),
                       [&](const std::string& line) { return line.starts_with(head); });
  });
}

// The first candidate's program is the request's.
void lead_with_first(Json& request) {
  auto& candidates = request["candidates"];
  const Json before = request["set"];
  Json base = before;
  base.update(candidates[0]["set"]);
  request["program"] = candidates[0]["program"];
  for (auto& candidate : candidates) {
    Json whole = before;
    whole.update(candidate["set"]);
    candidate["set"] = differing(whole, base);
  }
  request["set"] = std::move(base);
}

bool has_records(const Json& list, const std::string& program) {
  return std::any_of(list.begin(), list.end(), [&](const Json& record) {
    return record.contains("of_candidates") && record.value("program", "") == program;
  });
}

}  // namespace

Json set_json(const Settings& set) {
  Json object = Json::object();
  for (const auto& [name, value] : set) object[name] = value;
  return object;
}

Json candidates_of(const Emitted& emitted) {
  Json request{{"program", emitted.program}, {"set", set_json(emitted.set)}};
  // One alone is compared with nothing: then the program's tunables are what can be tried.
  if (emitted.every.empty() || (emitted.every.size() == 1 && emitted.program.contains("tunables"))) return request;
  for (const auto& one : emitted.every)
    request["candidates"].push_back({{"name", one.configuration},
                                     {"program", one.program},
                                     {"set", differing(set_json(one.set), request["set"])}});
  return request;
}

Status choose_recorded(Context& context, const RecordedFor& where, Emitted& emitted) {
  KILN_TRY(const auto list, context.ask("tuning.list", Json::object()));
  if (!has_records(list["records"], emitted.program.value("name", ""))) return ok();
  auto given = where.given;
  given.every = true;
  KILN_TRY(auto all, where.source.emit(context, given));
  auto request = candidates_of(all);
  if (!request.contains("candidates")) return ok();
  request["recorded"] = true;
  if (where.device.empty()) request["target"] = where.target;
  else request["device"] = where.device;
  const auto answer = tune_configurations(context, std::move(request));
  if (!answer) return about_request(answer.error()) || answer.error().code == ErrorCode::not_found
                          ? ok() : Status(answer.error());
  const auto winner = answer->value("winner", "");
  for (auto& one : all.every) {
    if (one.configuration != winner) continue;
    static_cast<EmittedProgram&>(emitted) = std::move(one);
    context.note(emitted.function + " is autotuned: " + winner + ", as tuning record " +
                 answer->value("record", "").substr(0, 12) + " says; --untuned takes the first configuration");
    emitted.configurations = 0;  // said
    return ok();
  }
  return ok();
}

void note_configuration(Context& context, const Emitted& emitted) {
  if (emitted.configurations < 2) return;
  context.note(emitted.function + " is autotuned: " + emitted.configuration + ", the first of " +
               std::to_string(emitted.configurations) + " configurations; --set " +
               (emitted.decided.empty() ? "NAME" : emitted.decided.front()) +
               "=VALUE chooses another, `kiln tune` measures them");
}

Result<Json> tune_configurations(Context& context, Json request) {
  const bool noted = !request.contains("recorded");
  while (true) {
    auto answer = context.ask("kernel.tune", request);
    auto& candidates = request["candidates"];
    if (answer || !about_request(answer.error()) || candidates.size() < 2 || tells_of_all(answer.error(), candidates))
      return answer;
    const auto index = faulty(answer.error(), candidates.size());
    const auto& error = answer.error();
    const auto& why = error.diagnostics.empty() ? error.message : error.diagnostics.front().message;
    if (noted) context.note(candidates[index].value("name", "") + " is left out: " + why);
    candidates.erase(index);
    if (index == 0) lead_with_first(request);
  }
}

}  // namespace kiln::cli
