// cel/arena.h: the memory of one evaluation, or of a compiled program's constants.
//
// Values (value.h) are small, trivially copied, and point here. Nothing is freed before the arena is: an evaluation is
// short, and its cost is bounded. The first kilobytes lie inside the arena, so a usual selector never touches the heap.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tessera::cel {

class Arena {
 public:
  // Beyond `limit` bytes an allocation throws std::bad_alloc; Evaluate() (evaluator.h) makes an error of it.
  explicit Arena(std::size_t limit = kDefaultLimit) : limit_(limit), upstream_(limit) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised room for `count` objects.
  template <class T>
  std::span<T> Room(std::size_t count) {
    return {static_cast<T*>(pool_.allocate(CheckedSize(count, sizeof(T)), alignof(T))), count};
  }

  template <class T>
  const T* Own(T value) {
    T* object = new (pool_.allocate(sizeof(T), alignof(T))) T(std::move(value));
    if constexpr (!std::is_trivially_destructible_v<T>) {
      AddFinalizer(object, [](void* p) { static_cast<T*>(p)->~T(); });
    }
    return object;
  }

  // Throws when so many bytes could never be had: for what grows on the heap before it is copied here.
  void Require(std::size_t bytes) const {
    if (bytes > limit_) throw std::bad_alloc();
  }

  // Counts work that costs little in Kubernetes' units but may be much: comparing nested lists, measuring long texts.
  // Throws when the evaluation has done too much of it.
  void Work(std::size_t amount) {
    if (amount > work_left_) throw std::bad_alloc();
    work_left_ -= amount;
  }

  std::string_view Copy(std::string_view text);
  std::string_view Concat(std::string_view a, std::string_view b);

 private:
  static constexpr std::size_t kDefaultLimit = 32U << 20U;

  // Counts what the pool takes from the heap.
  class Limited : public std::pmr::memory_resource {
   public:
    explicit Limited(std::size_t limit) : left_(limit) {}

   private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::size_t left_;
  };

  struct Finalizer {
    void* object;
    void (*destroy)(void*);
    Finalizer* next;
  };

  static std::size_t CheckedSize(std::size_t count, std::size_t size);
  void AddFinalizer(void* object, void (*destroy)(void*));

  static constexpr std::size_t kMaxWork = 20'000'000;  // A fraction of a second.

  const std::size_t limit_;
  std::size_t work_left_ = kMaxWork;
  alignas(std::max_align_t) std::array<std::byte, 2048> first_;
  Limited upstream_;
  std::pmr::monotonic_buffer_resource pool_{first_.data(), first_.size(), &upstream_};
  Finalizer* finalizers_ = nullptr;
};

}  // namespace tessera::cel
