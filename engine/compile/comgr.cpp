#include "engine/compile/comgr.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <type_traits>

namespace kiln::compile {
namespace {

// amd_comgr.h, version 3.
enum Kind : int { kind_source = 1, kind_log = 5, kind_relocatable = 7, kind_executable = 8 };
constexpr int language_hip = 3, action_link = 7, action_compile = 13;

// The folder of `pattern`'s matches that holds `file`, the one with the largest numbers; "" if none does.
std::string newest_folder(const std::string& pattern, const char* file) {
  glob_t found{};
  std::string best;
  std::error_code ignored;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string folder = found.gl_pathv[i];
      if (std::filesystem::is_regular_file(folder + "/" + file, ignored) &&
          (best.empty() || strverscmp(folder.c_str(), best.c_str()) > 0))
        best = folder;
    }
  }
  globfree(&found);
  return best;
}

std::string folder_of(const void* function) {
  Dl_info info{};
  char resolved[PATH_MAX];
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr || realpath(info.dli_fname, resolved) == nullptr)
    return "";
  const std::string path = resolved;
  return path.substr(0, path.rfind('/'));
}

}  // namespace

struct Comgr::Functions {
  int (*create_data)(int, Handle*);
  int (*release_data)(Handle);
  int (*set_data)(Handle, std::size_t, const char*);
  int (*set_data_name)(Handle, const char*);
  int (*get_data)(Handle, std::size_t*, char*);
  int (*create_data_set)(Handle*);
  int (*destroy_data_set)(Handle);
  int (*data_set_add)(Handle, Handle);
  int (*action_data_count)(Handle, int, std::size_t*);
  int (*action_data_get_data)(Handle, int, std::size_t, Handle*);
  int (*create_action_info)(Handle*);
  int (*destroy_action_info)(Handle);
  int (*action_info_set_isa_name)(Handle, const char*);
  int (*action_info_set_language)(Handle, int);
  int (*action_info_set_option_list)(Handle, const char**, std::size_t);
  int (*action_info_set_device_lib_linking)(Handle, bool);
  int (*action_info_set_logging)(Handle, bool);
  int (*do_action)(int, Handle, Handle, Handle);

  bool find(void* library) {
    const auto one = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
#define KILN_FIND(name) one(name, "amd_comgr_" #name)
    return KILN_FIND(create_data) && KILN_FIND(release_data) && KILN_FIND(set_data) && KILN_FIND(set_data_name) &&
           KILN_FIND(get_data) && KILN_FIND(create_data_set) && KILN_FIND(destroy_data_set) &&
           KILN_FIND(data_set_add) && KILN_FIND(action_data_count) && KILN_FIND(action_data_get_data) &&
           KILN_FIND(create_action_info) && KILN_FIND(destroy_action_info) && KILN_FIND(action_info_set_isa_name) &&
           KILN_FIND(action_info_set_language) && KILN_FIND(action_info_set_option_list) &&
           KILN_FIND(action_info_set_device_lib_linking) && KILN_FIND(action_info_set_logging) && KILN_FIND(do_action);
#undef KILN_FIND
  }
};

// A set of data, and what came of an action in it.
class Comgr::Set {
 public:
  explicit Set(const Functions& functions) : functions_(functions) { good_ = functions_.create_data_set(&handle_) == 0; }
  ~Set() { if (good_) functions_.destroy_data_set(handle_); }
  Set(const Set&) = delete;
  [[nodiscard]] Handle handle() const { return handle_; }

  Status add_source(const std::string& text, const std::string& name) {
    Handle data;
    if (!good_ || functions_.create_data(kind_source, &data) != 0)
      return Error(ErrorCode::compile_failed, "the compiler has no memory for the text");
    const bool taken = functions_.set_data(data, text.size(), text.data()) == 0 &&
                       functions_.set_data_name(data, name.c_str()) == 0 &&
                       functions_.data_set_add(handle_, data) == 0;
    functions_.release_data(data);
    return taken ? ok() : Status(Error(ErrorCode::compile_failed, "the compiler does not take the text"));
  }
  // All data of a kind, one after the other.
  [[nodiscard]] std::string bytes(int kind) const {
    std::string all;
    std::size_t count = 0;
    if (!good_ || functions_.action_data_count(handle_, kind, &count) != 0) return all;
    for (std::size_t i = 0; i < count; ++i) {
      Handle data;
      if (functions_.action_data_get_data(handle_, kind, i, &data) != 0) continue;
      std::size_t size = 0;
      if (functions_.get_data(data, &size, nullptr) == 0) {
        std::string one(size, '\0');
        if (functions_.get_data(data, &size, one.data()) == 0) all += one;
      }
      functions_.release_data(data);
    }
    return all;
  }

 private:
  const Functions& functions_;
  Handle handle_;
  bool good_ = false;
};

// What an action shall do, for one target.
class Comgr::Action {
 public:
  Action(const Functions& functions, const std::string& isa) : functions_(functions) {
    made_ = functions_.create_action_info(&info_) == 0;
    good_ = made_ && functions_.action_info_set_isa_name(info_, isa.c_str()) == 0 &&
            functions_.action_info_set_logging(info_, true) == 0;
  }
  ~Action() { if (made_) functions_.destroy_action_info(info_); }
  Action(const Action&) = delete;
  [[nodiscard]] Handle info() const { return info_; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const Functions& functions_;
  Handle info_;
  bool made_ = false, good_ = false;
};

Result<Comgr> Comgr::load() {
  static Functions functions;
  void* const library = dlopen("libamd_comgr.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error(ErrorCode::no_compiler, dlerror());
  if (!functions.find(library)) return Error(ErrorCode::no_compiler, "libamd_comgr.so.3 lacks functions");
  Comgr comgr;
  comgr.functions_ = &functions;
  const auto folder = folder_of(reinterpret_cast<const void*>(functions.do_action));
  for (const char* up : {"/../include", "/../../include"})
    if (comgr.hip_include_.empty()) comgr.hip_include_ = newest_folder(folder + up, "hip/hip_runtime.h");
  for (const char* place : {"/llvm/lib/clang/*/include", "/../llvm-*/lib/clang/*/include"}) {
    if (comgr.clang_include_.empty())
      comgr.clang_include_ = newest_folder(folder + place, "__clang_hip_runtime_wrapper.h");
  }
  if (comgr.hip_include_.empty()) return Error(ErrorCode::no_compiler, "no HIP headers beside " + folder);
  if (comgr.clang_include_.empty()) return Error(ErrorCode::no_compiler, "no clang headers beside " + folder);
  return comgr;
}

Result<Hiprtc::Output> Comgr::compile(const std::string& text, const std::string& name, const std::string& target,
                                      const std::vector<std::string>& options) const {
  const Functions& f = *functions_;
  // What clang's driver adds where it finds HIP by itself.
  std::vector<std::string> words{"-nogpuinc", "-isystem", clang_include_ + "/cuda_wrappers", "-idirafter",
                                 clang_include_, "-idirafter", hip_include_, "-include",
                                 "__clang_hip_runtime_wrapper.h", "-include", "hip/hip_runtime.h"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<const char*> flags;
  for (const auto& word : words) flags.push_back(word.c_str());
  Set source(f), relocatable(f), executable(f);
  KILN_CHECK(source.add_source(text, name));
  const std::string isa = "amdgcn-amd-amdhsa--" + target;
  Action compile(f, isa), link(f, isa);
  const bool prepared = compile.good() && link.good() && f.action_info_set_language(compile.info(), language_hip) == 0 &&
                        f.action_info_set_device_lib_linking(compile.info(), true) == 0 &&
                        f.action_info_set_option_list(compile.info(), flags.data(), flags.size()) == 0;
  const bool linked = prepared &&
                      f.do_action(action_compile, compile.info(), source.handle(), relocatable.handle()) == 0 &&
                      f.do_action(action_link, link.info(), relocatable.handle(), executable.handle()) == 0;
  Hiprtc::Output output;
  output.log = relocatable.bytes(kind_log) + executable.bytes(kind_log);
  while (!output.log.empty() && (output.log.back() == '\0' || output.log.back() == '\n')) output.log.pop_back();
  if (!output.log.empty()) output.log += '\n';
  const auto object = executable.bytes(kind_executable);
  if (linked && !object.empty()) {
    output.object.assign(object.begin(), object.end());
    return output;
  }
  Error error(ErrorCode::compile_failed, prepared ? "the compiler refuses the text" : "the compiler does not take " + isa);
  if (!output.log.empty()) error.context.push_back(output.log);
  return error;
}

}  // namespace kiln::compile
