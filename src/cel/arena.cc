#include "cel/arena.h"

#include <algorithm>

namespace tessera::cel {

void* Arena::Limited::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > left_) throw std::bad_alloc();
  left_ -= bytes;
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void Arena::Limited::do_deallocate(void* p, std::size_t bytes, std::size_t alignment) {
  std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
}

Arena::~Arena() {
  for (const Finalizer* f = finalizers_; f != nullptr; f = f->next) f->destroy(f->object);
}

std::size_t Arena::CheckedSize(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) throw std::bad_alloc();
  return bytes;
}

void Arena::AddFinalizer(void* object, void (*destroy)(void*)) {
  void* room = pool_.allocate(sizeof(Finalizer), alignof(Finalizer));
  finalizers_ = new (room) Finalizer{object, destroy, finalizers_};
}

std::string_view Arena::Copy(std::string_view text) {
  const std::span<char> room = Room<char>(text.size());
  std::ranges::copy(text, room.begin());
  return {room.data(), room.size()};
}

std::string_view Arena::Concat(std::string_view a, std::string_view b) {
  const std::span<char> room = Room<char>(a.size() + b.size());
  std::ranges::copy(b, std::ranges::copy(a, room.begin()).out);
  return {room.data(), room.size()};
}

}  // namespace tessera::cel
