#include "engine/reference/serve.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <new>

#include "engine/base/channel.hpp"
#include "engine/base/os.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/reference/messages.hpp"

namespace kiln::reference {
namespace {

// Memory of a request as this process sees it: a mapping, or bytes of its own.
struct Block {
  Mapping mapping;
  Bytes own;
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
};
struct Identity {
  dev_t device = 0;
  ino_t file = 0;
  std::uint64_t begin = 0, end = 0;
};

Result<Identity> identify(const Memory& memory, const std::string& what) {
  struct stat status {};
  if (os::fstat(memory.fd, &status) != 0) return errno_error(errno, "cannot look at the memory of " + what);
  if (!S_ISREG(status.st_mode))
    return Error(ErrorCode::invalid_argument, "the memory of " + what + " is no memory file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (memory.offset > size || memory.size > size - memory.offset)
    return Error(ErrorCode::invalid_argument,
                 "the memory of " + what + " ends beyond its file: " + std::to_string(memory.size) + " bytes at " +
                     std::to_string(memory.offset) + " of " + std::to_string(size));
  return Identity{status.st_dev, status.st_ino, memory.offset, memory.offset + memory.size};
}

Result<Block> map_memory(const Memory& memory, bool writable, const std::string& what) {
  Block block;
  if (memory.fd < 0) {
    block.own = memory.value;
    block.data = block.own.data();
    block.size = block.own.size();
    return block;
  }
  KILN_CHECK(identify(memory, what));
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto before = memory.offset % page;
  const auto bytes = static_cast<std::size_t>(memory.size + before);
  KILN_TRY(block.mapping, Mapping::map(memory.fd, memory.size == 0 ? 0 : bytes, writable,
                                       static_cast<std::int64_t>(memory.offset - before)));
  block.data = block.mapping.data() ? block.mapping.data() + before : nullptr;
  block.size = static_cast<std::size_t>(memory.size);
  return block;
}

Result<Block> copy_memory(const Memory& memory, const std::string& what) {
  KILN_TRY(const auto mapped, map_memory(memory, false, what));
  Block block;
  block.own.assign(mapped.data, mapped.data + mapped.size);
  block.data = block.own.data();
  block.size = block.own.size();
  return block;
}

std::string name_of(const bound::Program& program, std::size_t i) { return "parameter " + program.tensors[i].name; }

// A private copy cannot show what two parameters that share memory do to each other.
Status refuse_shared(const bound::Program& program, const std::vector<Memory>& arguments) {
  std::vector<std::optional<Identity>> identities(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].fd >= 0 && arguments[i].size > 0) {
      KILN_TRY(identities[i], identify(arguments[i], name_of(program, i)));
    }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto &a = identities[i], &b = identities[j];
      if (!a || !b || (program.tensors[i].access == Access::read && program.tensors[j].access == Access::read))
        continue;
      if (a->device == b->device && a->file == b->file && a->begin < b->end && b->begin < a->end)
        return Error(ErrorCode::unsupported, "verify of parameters that share memory is not built yet: " +
                                                 name_of(program, j) + " and " + name_of(program, i));
    }
  return {};
}

const Candidate* candidate_of(const RunRequest& request, std::size_t tensor) {
  for (const auto& c : request.candidates)
    if (c.tensor == static_cast<int>(tensor)) return &c;
  return nullptr;
}

Result<std::vector<Block>> prepare(const bound::Program& program, const RunRequest& request) {
  std::vector<Block> blocks(request.arguments.size());
  const bool verify = !request.candidates.empty();
  for (std::size_t i = 0; i < blocks.size() && i < program.arguments(); ++i) {
    const auto& memory = request.arguments[i];
    const auto what = name_of(program, i);
    const bool written = program.tensors[i].access != Access::read;
    if (!written) {
      KILN_TRY(blocks[i], map_memory(memory, false, what));
    } else if (!verify) {
      if (memory.fd < 0)
        return Error(ErrorCode::invalid_argument, "the memory of " + what + " must be a descriptor: it is written");
      KILN_TRY(blocks[i], map_memory(memory, true, what));
    } else {
      const auto* candidate = candidate_of(request, i);
      const bool from_candidate =
          candidate && memory.size == 0 && memory.value.empty() && program.tensors[i].access == Access::write;
      KILN_TRY(blocks[i], copy_memory(from_candidate ? candidate->memory : memory, what));
    }
  }
  return blocks;
}

// max(|x|, 1) over the float inputs: an upper bound of every operand that is copied from them.
double largest_input(const bound::Program& program, const std::vector<Block>& blocks) {
  double largest = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (!is_float(tensor.dtype) || tensor.access == Access::write) continue;
    const auto load = bound::load_function(tensor.dtype);
    const auto bytes = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    for (std::size_t at = 0; at + bytes <= blocks[i].size; at += bytes)
      if (const double v = std::fabs(load(blocks[i].data + at).real); v > largest && std::isfinite(v)) largest = v;
  }
  return largest;
}

Result<RunReply> compare_all(const bound::Program& program, const RunRequest& request, const std::vector<Block>& blocks,
                             const std::vector<std::vector<double>>& scales, ToleranceSpec spec) {
  RunReply reply;
  for (const auto& candidate : request.candidates) {
    const auto i = static_cast<std::size_t>(candidate.tensor);
    const auto& tensor = program.tensors[i];
    const auto bytes = static_cast<std::size_t>(tensor.bytes());
    KILN_TRY(const auto got, map_memory(candidate.memory, false, "the result for " + name_of(program, i)));
    if (got.size < bytes)
      return Error(ErrorCode::invalid_argument, "the result for " + name_of(program, i) + " has " +
                                                    std::to_string(got.size) + " bytes of " + std::to_string(bytes));
    TensorComparison result;
    result.tensor = candidate.tensor;
    result.tolerance = spec;
    result.comparison =
        compare(tensor.dtype, ByteView(got.data, bytes), ByteView(blocks[i].data, bytes), scales[i], spec);
    reply.comparisons.push_back(result);
  }
  return reply;
}

}  // namespace

Result<RunReply> carry_out(const RunRequest& request, Deadline deadline) {
  KILN_TRY(const auto program, bound::decode(request.program));
  for (const auto& candidate : request.candidates)
    if (candidate.tensor < 0 || static_cast<std::size_t>(candidate.tensor) >= program.arguments() ||
        program.tensors[static_cast<std::size_t>(candidate.tensor)].access == Access::read)
      return Error(ErrorCode::invalid_argument, "a result to compare for a parameter that is not written");
  if (request.arguments.size() == program.arguments() && !request.candidates.empty())
    KILN_CHECK(refuse_shared(program, request.arguments));
  KILN_TRY(auto blocks, prepare(program, request));
  std::vector<Argument> arguments;
  for (auto& block : blocks) arguments.push_back({block.data, block.size});
  RunOptions options;
  options.check_races = request.check_races;
  options.deadline = deadline;
  options.steps_max = request.steps_max;
  if (request.candidates.empty()) {
    RunReply reply;
    KILN_CHECK(run(program, arguments, options, nullptr, &reply.records));
    return reply;
  }
  std::vector<std::vector<double>> scales;
  Bytes records;
  KILN_CHECK(run(program, arguments, options, &scales, &records));
  auto spec = request.tolerance ? *request.tolerance : tolerance_of(program);
  if (!request.tolerance && spec.flushes_denormals) spec.operand_max = largest_input(program, blocks);
  KILN_TRY(auto reply, compare_all(program, request, blocks, scales, spec));
  reply.records = std::move(records);
  return reply;
}

int serve(int socket) {
  std::vector<UniqueFd> fds;
  for (;;) {
    auto frame = receive_frame(socket);
    if (!frame) return frame.error().code == ErrorCode::not_running ? 0 : 1;
    if (frame->kind == static_cast<std::uint8_t>(MessageKind::attach)) {
      if (fds.size() + frame->fds.size() > attached_fds_max) return 1;
      for (auto& fd : frame->fds) fds.push_back(std::move(fd));
      continue;
    }
    if (frame->kind != static_cast<std::uint8_t>(MessageKind::run)) return 1;
    Result<RunReply> reply = Error(ErrorCode::out_of_memory, "the interpreter has no memory for this request");
    try {
      auto received = decode_request(frame->payload, fds);
      if (received) {
        const auto deadline =
            received->deadline_ms < 0 ? Deadline() : Deadline::after(std::chrono::milliseconds(received->deadline_ms));
        reply = carry_out(received->request, deadline);
      } else {
        reply = std::move(received).error();
      }
    } catch (const std::bad_alloc&) {
    }
    fds.clear();
    if (!send_frame(socket, static_cast<std::uint8_t>(MessageKind::done), encode_reply(reply))) return 1;
  }
}

}  // namespace kiln::reference
