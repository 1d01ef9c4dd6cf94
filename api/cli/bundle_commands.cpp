// cache export, cache import: many kernels as one file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "api/cli/context.hpp"
#include "engine/base/os.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

Status copy_bytes(int from, int to) {
  Bytes chunk(std::size_t(1) << 20);
  for (off_t at = 0;;) {
    const auto n = os::pread(from, chunk.data(), chunk.size(), at);
    if (n < 0) return errno_error(errno, "cannot read the bundle");
    if (n == 0) return ok();
    KILN_CHECK(write_all(to, ByteView(chunk).first(static_cast<std::size_t>(n))));
    at += n;
  }
}

// Beside its place first: whoever reads `path` sees the old file or the new one, also after a crash.
Status write_bundle(int bundle, const std::string& path) {
  struct stat there {};
  if (os::fstatat(AT_FDCWD, path.c_str(), &there, 0) == 0 && !S_ISREG(there.st_mode))
    return Error(ErrorCode::invalid_argument, "it is there and no regular file");
  const auto temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  // Nobody else may write it, whatever the umask: it would be trusted nowhere.
  UniqueFd fd(os::openat(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return errno_error(errno, "cannot create it");
  auto status = copy_bytes(bundle, fd.get());
  if (status && os::fsync(fd.get()) != 0) status = errno_error(errno, "cannot write");
  if (status && os::renameat(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str()) != 0)
    status = errno_error(errno, "cannot replace it");
  if (!status) os::unlinkat(AT_FDCWD, temporary.c_str(), 0);
  return status;
}

int export_command(Context& context, const std::string& path, Json params) {
  auto answer = context.ask_with_fds("cache.export", std::move(params));
  if (!answer) return report(context, answer.error());
  if (answer->fds.size() != 1) return report(context, Error(ErrorCode::protocol_error, "the answer has no bundle"));
  auto& result = answer->result;
  if (auto written = write_bundle(answer->fds[0].get(), path); !written) {
    written.error().message = path + ": " + written.error().message;
    return report(context, written.error());
  }
  const auto bytes = result["bundle"]["bytes"];
  if (context.json) {
    print_json({{"file", path}, {"bytes", bytes}, {"entries", result["entries"]}, {"notes", result["notes"]},
                {"vouched", result["vouched"]}});
    return exit_ok;
  }
  std::cout << path << ": " << text_of(result["entries"]) << " kernels, " << text_of(bytes) << " bytes"
            << (result.value("vouched", false) ? ", with the HMAC of trust_key" : "") << "\n";
  return exit_ok;
}

int import_command(Context& context, const std::string& path) {
  const UniqueFd file(os::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return report(context, errno_error(errno, "cannot open " + path));
  auto answer = context.ask("cache.import", {{"fd", {{"fd", 0}}}}, {file.get()});
  if (!answer) return report(context, std::move(answer).error().with("importing " + path));
  const auto& result = *answer;
  if (context.json) {
    print_json(result);
  } else {
    std::cout << path << ": " << text_of(result["taken"]) << " kernels taken, " << text_of(result["present"])
              << " were there, " << text_of(result["refused"]) << " refused\n";
    for (const auto& problem : result["problems"]) std::cout << "  " << text_of(problem) << "\n";
  }
  return result.value("refused", 0) == 0 ? exit_ok : exit_failed;
}

}  // namespace

void add_bundle_commands(CLI::App& cache, Context& context, int& status) {
  auto* out = cache.add_subcommand("export", "write kernels as one file, a bundle, for other machines and images");
  const auto path = std::make_shared<std::string>();
  const auto keys = std::make_shared<std::vector<std::string>>();
  const auto programs = std::make_shared<std::vector<std::string>>();
  const auto targets = std::make_shared<std::vector<std::string>>();
  out->add_option("file", *path, "where to write it")->required();
  out->add_option("keys", *keys, "these entries; default all");
  out->add_option("--program", *programs, "of these programs alone");
  out->add_option("--target", *targets, "for these targets alone: gfx942, host");
  out->callback([&context, &status, path, keys, programs, targets] {
    Json params = Json::object();
    if (!keys->empty()) params["keys"] = *keys;
    if (!programs->empty()) params["programs"] = *programs;
    if (!targets->empty()) params["targets"] = *targets;
    status = export_command(context, *path, std::move(params));
  });
  auto* in = cache.add_subcommand("import", "take over what a bundle holds and the cache does not");
  const auto from = std::make_shared<std::string>();
  in->add_option("file", *from, "a bundle: root's or ours, which nobody else may write, or with trust_key's HMAC")
      ->required();
  in->callback([&context, &status, from] { status = import_command(context, *from); });
}

}  // namespace kiln::cli
