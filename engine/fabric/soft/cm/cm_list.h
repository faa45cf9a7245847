// An intrusive doubly linked list: removing an element takes constant time, and membership takes no
// extra memory.
#pragma once

namespace rpcrdma::soft {

template <typename T>
struct CmLinks {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

template <typename T, CmLinks<T> T::*kLinks>
class CmList {
 public:
  [[nodiscard]] T* front() const { return first_; }

  // Does nothing if the element is already in the list.
  void push_back(T& element) {
    CmLinks<T>& links = element.*kLinks;
    if (links.linked) return;
    links = {last_, nullptr, true};
    (last_ == nullptr ? first_ : (last_->*kLinks).next) = &element;
    last_ = &element;
  }

  // Does nothing if the element is not in the list.
  void remove(T& element) {
    CmLinks<T>& links = element.*kLinks;
    if (!links.linked) return;
    (links.previous == nullptr ? first_ : (links.previous->*kLinks).next) = links.next;
    (links.next == nullptr ? last_ : (links.next->*kLinks).previous) = links.previous;
    links = {};
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace rpcrdma::soft
