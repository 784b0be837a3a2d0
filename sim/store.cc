#include "sim/store.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <mutex>
#include <ranges>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "sim/tree.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kMagic = 0x31'30'45'47'41'50'53'54;  // "TSPAGE01"

// What all processes map. Both counters are raised *before* their file is replaced: a writer that dies in between
// leaves readers looking at the file more often than needed, never at something old.
struct Page {
  std::uint64_t magic;
  std::atomic<std::uint64_t> generation;  // Of state.json.
  std::atomic<std::uint64_t> sequence;    // Of the newest event.
  std::atomic<std::uint32_t> changes;     // Futex: raised after each change of either file.
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(Page) == 32 && sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// A writer that dies before it wakes anybody is noticed after this long.
constexpr milliseconds kLookAgain{1000};

// Sleeps while *word is `expected`, at most `timeout`. Works on a read-only mapping too; not FUTEX_PRIVATE, because
// the waker is another process.
void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, milliseconds timeout) {
  const timespec limit{.tv_sec = timeout.count() / 1000, .tv_nsec = timeout.count() % 1000 * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void FutexWakeAll(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The page of one state directory, mapped. Read-only where the file system or the file's mode says so.
class PageMap {
 public:
  PageMap() = default;
  PageMap(PageMap&& other) noexcept : at_(std::exchange(other.at_, nullptr)), writable_(other.writable_) {}
  PageMap& operator=(PageMap&&) = delete;
  ~PageMap() {
    if (at_ != nullptr) ::munmap(at_, sizeof(Page));
  }

  static Result<PageMap> Open(const fs::path& path) {
    UniqueFd file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    const bool writable = static_cast<bool>(file);
    if (!writable) file.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string doing = "opening " + path.string();
    if (!file) return FromErrno(errno, "StateNotFound", doing);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return FromErrno(errno, "StateNotFound", doing);
    // Mapped bytes behind the end of a file raise SIGBUS.
    if (static_cast<std::size_t>(status.st_size) < sizeof(Page)) return Invalid(path);
    void* at = ::mmap(nullptr, sizeof(Page), writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) return FromErrno(errno, "StateNotFound", doing);
    PageMap map;
    map.at_ = static_cast<Page*>(at);
    map.writable_ = writable;
    if (map->magic != kMagic) return Invalid(path);
    return map;
  }

  Page* operator->() const { return at_; }
  bool writable() const { return writable_; }

 private:
  static std::unexpected<Error> Invalid(const fs::path& path) {
    return BadConfig("StateInvalid", path.string() + " is not a page of this simulator's state",
                     "make the machine again with `tessera-sim create`");
  }

  Page* at_ = nullptr;
  bool writable_ = false;
};

// Held by whoever changes a file; the kernel lets go of it when the holder dies.
Result<UniqueFd> TakeLock(const fs::path& path) {
  UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
  if (!file) {
    const bool refused = errno == EROFS || errno == EACCES || errno == EPERM;
    return FromErrno(errno, refused ? "StateReadOnly" : "StateUnwritable", "opening " + path.string());
  }
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FromErrno(errno, "StateUnwritable", "locking " + path.string());
  }
  return file;
}

Result<Machine> ReadMachine(const fs::path& path) {
  TESSERA_ASSIGN(const std::string text, ReadFile(path));
  auto value = json::ParseJson(text);
  if (!value) return std::unexpected(std::move(value).error().Wrap(path.string()));
  auto machine = json::Decode<Machine>(*value);
  if (!machine) return std::unexpected(std::move(machine).error().Wrap(path.string()));
  return machine;
}

Result<void> WriteMachine(const fs::path& path, const Machine& machine) {
  return ReplaceFile(path, json::PrintJson(json::Encode(machine), 1) + '\n');
}

Result<Event> ParseEvent(std::string_view line) {
  TESSERA_ASSIGN(const json::Value value, json::ParseJson(line));
  return json::Decode<Event>(value);
}

// The lines of the events file, oldest first.
std::vector<std::string_view> Lines(std::string_view text) {
  auto lines = Split(text, '\n');
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  return lines;
}

Result<std::vector<Event>> ReadEvents(const fs::path& path, std::uint64_t after) {
  TESSERA_ASSIGN(const std::string text, ReadFile(path));
  const auto lines = Lines(text);
  std::vector<Event> events;
  for (const auto& line : std::views::reverse(lines)) {  // A listener is rarely far behind.
    auto event = ParseEvent(line);
    if (!event) return std::unexpected(std::move(event).error().Wrap(path.string()));
    if (event->sequence <= after) break;
    events.push_back(*event);
  }
  std::ranges::reverse(events);
  return events;
}

// The newest kMaxEvents are kept.
Result<void> AppendEvents(const fs::path& path, std::span<const Event> events) {
  if (events.size() > kMaxEvents) events = events.last(kMaxEvents);
  TESSERA_ASSIGN(const std::string text, ReadFile(path));
  const auto lines = Lines(text);
  const std::size_t room = kMaxEvents - events.size();
  std::string kept;
  for (std::size_t i = lines.size() < room ? 0 : lines.size() - room; i < lines.size(); ++i) {
    kept.append(lines[i]) += '\n';
  }
  for (const Event& event : events) kept += json::PrintJson(json::Encode(event)) + '\n';
  return ReplaceFile(path, kept);
}

// The driver root "/" is the machine itself (a container into which the state is mounted): its /dev and /proc are not
// ours to change.
Result<void> FollowTree(const fs::path& root, const Machine& machine) {
  if (root == root.root_path()) return {};
  auto synced = SyncTree(root, machine);
  if (!synced) return std::unexpected(std::move(synced).error().Wrap("the state changed, its tree did not"));
  return {};
}

Result<void> MakePage(const fs::path& path) {
  if (PageMap::Open(path).has_value()) return {};  // Others may have it mapped: it is never replaced by another.
  std::string bytes(sizeof(Page), '\0');
  std::copy_n(reinterpret_cast<const char*>(&kMagic), sizeof(kMagic), bytes.data());
  return ReplaceFile(path, bytes);
}

}  // namespace

struct Store::Impl {
  Impl(const fs::path& dir, PageMap map)
      : state(dir / "state.json"), lock(dir / "lock"), events(dir / "events"), page(std::move(map)) {}

  // Stores the machine and lets everybody know. The caller holds the lock.
  Result<void> Replace(const fs::path& root, Machine& machine);
  void WakeAll();

  // Constant after construction.
  const fs::path state, lock, events;
  const PageMap page;

  std::mutex mutex;
  std::shared_ptr<const Machine> cached;  // Protected by mutex.
};

Result<void> Store::Impl::Replace(const fs::path& root, Machine& machine) {
  machine.generation = std::max(page->generation.load(), machine.generation) + 1;
  page->generation.store(machine.generation);
  TESSERA_TRY(WriteMachine(state, machine));
  const auto followed = FollowTree(root, machine);
  WakeAll();
  return followed;
}

void Store::Impl::WakeAll() {
  page->changes.fetch_add(1);
  FutexWakeAll(page->changes);
}

Store::Store(fs::path root, std::unique_ptr<Impl> impl) : root_(std::move(root)), impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::Create(const fs::path& root, const Machine& machine) {
  const fs::path dir = root / kStateDir;
  std::error_code failed;
  fs::create_directories(dir, failed);
  if (failed) return FromErrno(failed.value(), "StateUnwritable", "making " + dir.string());
  TESSERA_ASSIGN(const UniqueFd lock, TakeLock(dir / "lock"));
  TESSERA_TRY(MakePage(dir / "page"));
  TESSERA_ASSIGN(PageMap page, PageMap::Open(dir / "page"));
  auto impl = std::make_unique<Impl>(dir, std::move(page));
  TESSERA_TRY(ReplaceFile(impl->events, ""));
  Machine first = machine;
  TESSERA_TRY(impl->Replace(root, first));  // Last: without state.json there is no machine.
  return std::unique_ptr<Store>(new Store(root, std::move(impl)));
}

Result<std::unique_ptr<Store>> Store::Open(const fs::path& root, const fs::path& state_dir) {
  const fs::path dir = state_dir.empty() ? root / kStateDir : state_dir;
  TESSERA_ASSIGN(PageMap page, PageMap::Open(dir / "page"));
  std::unique_ptr<Store> store(new Store(root, std::make_unique<Impl>(dir, std::move(page))));
  TESSERA_TRY(store->Read());
  return store;
}

Result<std::shared_ptr<const Machine>> Store::Read() {
  {
    const std::scoped_lock hold(impl_->mutex);
    const auto& cached = impl_->cached;
    if (cached && cached->generation == impl_->page->generation.load(std::memory_order_relaxed)) return cached;
  }
  TESSERA_ASSIGN(Machine machine, ReadMachine(impl_->state));
  auto fresh = std::make_shared<const Machine>(std::move(machine));
  const std::scoped_lock hold(impl_->mutex);
  if (!impl_->cached || impl_->cached->generation < fresh->generation) impl_->cached = fresh;
  return impl_->cached;
}

Result<void> Store::Update(const std::function<Result<void>(Machine&)>& change) {
  TESSERA_ASSIGN(const UniqueFd lock, TakeLock(impl_->lock));
  if (!impl_->page.writable()) return BadConfig("StateReadOnly", impl_->state.string() + " may only be read here");
  TESSERA_ASSIGN(const Machine before, ReadMachine(impl_->state));
  Machine after = before;
  TESSERA_TRY(change(after));
  if (after == before) return {};
  return impl_->Replace(root_, after);
}

Result<void> Store::EmitAll(std::span<const Event> events) {
  TESSERA_ASSIGN(const UniqueFd lock, TakeLock(impl_->lock));
  if (!impl_->page.writable()) return BadConfig("StateReadOnly", impl_->events.string() + " may only be read here");
  std::vector<Event> numbered(events.begin(), events.end());
  std::uint64_t sequence = impl_->page->sequence.fetch_add(events.size());
  for (Event& event : numbered) event.sequence = ++sequence;
  TESSERA_TRY(AppendEvents(impl_->events, numbered));
  impl_->WakeAll();
  return {};
}

std::uint64_t Store::LastEvent() const { return impl_->page->sequence.load(); }

Result<std::vector<Event>> Store::WaitEvents(std::uint64_t sequence, milliseconds timeout,
                                             std::optional<std::uint64_t> seen) {
  const PageMap& page = impl_->page;
  if (!seen) {
    TESSERA_ASSIGN(const auto now, Read());
    seen = now->generation;
  }
  // Far enough for nobody to notice, near enough for the clock's arithmetic.
  const auto deadline = steady_clock::now() + std::min<milliseconds>(timeout, std::chrono::hours(24 * 365));
  for (;;) {
    const std::uint32_t changes = page->changes.load();  // Before looking: what changes after this ends the sleep.
    if (page->sequence.load() > sequence) {
      TESSERA_ASSIGN(std::vector<Event> events, ReadEvents(impl_->events, sequence));
      if (!events.empty()) return events;
    }
    if (page->generation.load() != *seen) {
      TESSERA_ASSIGN(const auto now, Read());  // A writer that died may have raised the page's alone.
      if (now->generation != *seen) return std::vector<Event>{};
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds::zero()) return std::vector<Event>{};
    FutexWait(page->changes, changes, std::min(left, kLookAgain));
  }
}

}  // namespace tessera::sim
