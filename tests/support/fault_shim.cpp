// Preloaded into a program (LD_PRELOAD): counts what it asks of the file system below one folder,
// logs it, slows it down, or makes it fail. Set by environment variables:
//   SMOE_FAULT_UNDER  the folder; nothing else is touched
//   SMOE_FAULT_AT     the k-th call fails, counted from 1
//   SMOE_FAULT_ERRNO  with this error number
//   SMOE_FAULT_STICKY every later call of that kind fails, too
//   SMOE_FAULT_ONLY   count calls of this kind only: open mkdir write sync rename close truncate
//   SMOE_FAULT_FIRED  a file that is created when a call was made to fail
//   SMOE_FAULT_PAUSE  microseconds to wait before each call
//   SMOE_FAULT_LOG    append each call that succeeded, with its data
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_watched(const std::string& path) {
  static const std::string under = setting("SMOE_FAULT_UNDER");
  return !under.empty() && path.compare(0, under.size(), under) == 0;
}

std::string path_of(int descriptor) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  char target[4096];
  const ssize_t length = ::readlink(name, target, sizeof target);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

// Whether this call is to fail; errno is set then.
bool fails(const char* kind) {
  static const std::string only = setting("SMOE_FAULT_ONLY");
  static const long at = std::atol(setting("SMOE_FAULT_AT").c_str());
  static const int error = std::atoi(setting("SMOE_FAULT_ERRNO").c_str());
  static const bool sticky = !setting("SMOE_FAULT_STICKY").empty();
  static const int pause = std::atoi(setting("SMOE_FAULT_PAUSE").c_str());
  static std::atomic<long> calls{0};
  if (pause > 0) ::usleep(static_cast<useconds_t>(pause));
  if (!only.empty() && only != kind) return false;
  const long call = ++calls;
  if (at == 0 || (call != at && !(sticky && call > at))) return false;
  static const std::string fired = setting("SMOE_FAULT_FIRED");
  if (!fired.empty()) std::fclose(std::fopen(fired.c_str(), "w"));
  errno = error;
  return true;
}

void log(const std::string& line, const void* data = nullptr, size_t bytes = 0) {
  static const std::string path = setting("SMOE_FAULT_LOG");
  if (path.empty()) return;
  static const int descriptor = real<int (*)(const char*, int, ...)>("open")(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  static const auto write = real<ssize_t (*)(int, const void*, size_t)>("write");
  std::string record = line + "\n";
  if (data != nullptr) record.append(static_cast<const char*>(data), bytes);
  if (write(descriptor, record.data(), record.size()) < 0) std::abort();
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const auto call = real<int (*)(const char*, int, ...)>(name);
  if ((flags & O_CREAT) == 0 || !is_watched(path)) return call(path, flags, mode);
  if (fails("open")) return -1;
  const int descriptor = call(path, flags, mode);
  if (descriptor >= 0) log(std::string("create ") + path);
  return descriptor;
}

ssize_t write_at(const char* name, int descriptor, const void* data, size_t bytes, off_t offset) {
  const auto call = real<ssize_t (*)(int, const void*, size_t, off_t)>(name);
  const std::string path = path_of(descriptor);
  if (!is_watched(path)) return call(descriptor, data, bytes, offset);
  if (fails("write")) return -1;
  const ssize_t put = call(descriptor, data, bytes, offset);
  if (put > 0)
    log("write " + path + " " + std::to_string(offset) + " " + std::to_string(put), data,
        static_cast<size_t>(put));
  return put;
}

int sync_file(const char* name, int descriptor) {
  const auto call = real<int (*)(int)>(name);
  const std::string path = path_of(descriptor);
  if (!is_watched(path)) return call(descriptor);
  if (fails("sync")) return -1;
  const int result = call(descriptor);
  if (result == 0) log("sync " + path);
  return result;
}

int remove_name(const char* name, const char* path) {
  const int result = real<int (*)(const char*)>(name)(path);
  if (result == 0 && is_watched(path)) log(std::string("remove ") + path);
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return open_file("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return open_file("open64", path, flags, mode);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return write_at("pwrite", descriptor, data, bytes, offset);
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  return write_at("pwrite64", descriptor, data, bytes, offset);
}

int fsync(int descriptor) { return sync_file("fsync", descriptor); }

int fdatasync(int descriptor) { return sync_file("fdatasync", descriptor); }

int ftruncate(int descriptor, off_t length) noexcept {
  const auto call = real<int (*)(int, off_t)>("ftruncate");
  if (is_watched(path_of(descriptor)) && fails("truncate")) return -1;
  return call(descriptor, length);
}

int close(int descriptor) {
  const auto call = real<int (*)(int)>("close");
  const std::string path = path_of(descriptor);
  if (!is_watched(path)) return call(descriptor);
  const bool failed = fails("close");
  const int error = errno;
  const int result = call(descriptor);  // a failed close() has closed, too
  if (!failed) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  const auto call = real<int (*)(const char*, const char*)>("rename");
  if (!is_watched(to)) return call(from, to);
  if (fails("rename")) return -1;
  const int result = call(from, to);
  if (result == 0) log(std::string("rename ") + from + " " + to);
  return result;
}

int mkdir(const char* path, mode_t mode) noexcept {
  const auto call = real<int (*)(const char*, mode_t)>("mkdir");
  if (!is_watched(path)) return call(path, mode);
  if (fails("mkdir")) return -1;
  const int result = call(path, mode);
  if (result == 0) log(std::string("mkdir ") + path);
  return result;
}

int unlink(const char* path) noexcept { return remove_name("unlink", path); }

int remove(const char* path) noexcept { return remove_name("remove", path); }

}  // extern "C"
