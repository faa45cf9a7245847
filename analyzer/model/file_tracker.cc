#include "file_tracker.h"

#include <algorithm>
#include <array>
#include <utility>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/model/procedure_name.h>

namespace rpcrdma::model {

namespace {

using ItemKind = decode::NfsItem::Kind;
using Step = FileUse::Step;
using StepKind = FileStepKind;

// RFC 7531, RFC 7863.
enum NfsOp : std::uint32_t {
  kCommit = 5,
  kCreate = 6,
  kGetfh = 10,
  kLink = 11,
  kLookup = 15,
  kLookupp = 16,
  kOpen = 18,
  kOpenattr = 19,
  kPutfh = 22,
  kPutpubfh = 23,
  kPutrootfh = 24,
  kRead = 25,
  kReaddir = 26,
  kRemove = 28,
  kRename = 29,
  kRestorefh = 31,
  kSavefh = 32,
  kSecinfo = 33,
  kWrite = 38,
  kSecinfoNoName = 52,
  kReadPlus = 68,
};

bool is_read_or_write(std::uint32_t op) {
  return op == kRead || op == kReadPlus || op == kWrite;
}

// Appends to the names of a Call. False: there are too many.
bool keep_text(FileUse& use, std::string_view text, std::uint16_t& begin, std::uint16_t& length) {
  if (use.text.size() + text.size() > FileUse::kMaxText) return false;
  begin = static_cast<std::uint16_t>(use.text.size());
  length = static_cast<std::uint16_t>(text.size());
  use.text += text;
  return true;
}

// A value as a filter may ask for it. `bytes`: of the item. Null: there are too many.
const FileUse::Value* keep_value(FileUse& use, const decode::NfsItem& item, wire::Bytes bytes) {
  if (use.values.size() == FileUse::kMaxValues) return nullptr;
  FileUse::Value value;
  value.kind = item.kind;
  value.number = item.value;
  const bool is_text = item.kind == ItemKind::kName || item.kind == ItemKind::kStateid;
  const auto text = text_of_bytes(bytes).substr(0, FileTable::kMaxName);
  if (is_text && !keep_text(use, text, value.begin, value.length)) return nullptr;
  return &use.values.emplace_back(value);
}

}  // namespace

// Turns the items of a Call into steps.
class CallFold final : public decode::NfsItemSink {
 public:
  CallFold(FileTracker& tracker, FileUse& use, const RpcInfo& rpc, wire::Bytes args)
      : tracker_(tracker), use_(use), rpc_(rpc), args_(args), compound_(rpc.ops.kept != 0) {
    if (compound_) choose_principal();
  }

  void item(const decode::NfsItem& item) override {
    const wire::Bytes bytes = args_.subspan(item.offset, item.length);
    if (compound_) advance(item.operation);
    const FileUse::Value* const value = keep_value(use_, item, bytes);
    note_first(item, bytes);
    if (count_ == held_.size()) return;
    Held held;
    held.kind = item.kind;
    if (item.kind == ItemKind::kHandle) {
      held.file = tracker_.table_.at(use_.server, bytes, static_cast<std::uint32_t>(item.value));
    }
    if (item.kind == ItemKind::kName) {
      if (value == nullptr || value->length == 0) return;
      held.begin = value->begin;
      held.length = value->length;
    }
    held_[count_++] = held;
  }

  void finish() {
    if (compound_) {
      advance(rpc_.ops.kept);
    } else if (rpc_.program == decode::kProgMount) {
      if (const Held* path = nth(ItemKind::kName, 0)) {
        add(StepKind::kRoot);
        add(StepKind::kDown, path);
        about();
        add(StepKind::kGet);
      }
    } else if (rpc_.program == decode::kProgNfs) {
      plain(rpc_.version == 2 ? name_of_nfs2() : rpc_.procedure);
    } else if (const Held* file = nth(ItemKind::kHandle, 0)) {
      put(*file);
      about();
    }
    if (!about_set_ && compound_) about();
    tracker_.describe(state_.about, with_child_, use_);
    if (!names_) use_.steps.clear();
  }

 private:
  struct Held {
    ItemKind kind = ItemKind::kHandle;
    FileRef file;
    std::uint16_t begin = 0, length = 0;
  };

  // A READ or WRITE, or the first operation that is not auxiliary.
  void choose_principal() {
    for (std::uint32_t i = 0; i < rpc_.ops.kept; ++i) {
      const std::uint32_t op = rpc_.ops.op[i];
      if (is_read_or_write(op)) {
        principal_ = i;
        use_.access = op == kWrite ? FileUse::Access::kWrite : FileUse::Access::kRead;
        return;
      }
      if (principal_ == UINT32_MAX && !is_auxiliary(op, false)) principal_ = i;
    }
  }

  void note_first(const decode::NfsItem& item, wire::Bytes bytes) {
    switch (item.kind) {
      case ItemKind::kOffset:
        if (!use_.offset) use_.offset = item.value;
        break;
      case ItemKind::kCount:
        if (!use_.count) use_.count = item.value;
        break;
      case ItemKind::kStateid:
        if (!use_.stateid && bytes.size() == 16) {
          std::copy(bytes.begin(), bytes.end(), use_.stateid.emplace().begin());
        }
        break;
      case ItemKind::kHandle:
      case ItemKind::kName:
        break;
    }
  }

  [[nodiscard]] const Held* nth(ItemKind kind, unsigned n) const {
    for (const Held& held : std::span(held_).first(count_)) {
      if (held.kind == kind && n-- == 0) return &held;
    }
    return nullptr;
  }

  void add(Step step) {
    step.operation = static_cast<std::uint16_t>(next_);
    tracker_.run(use_, step, state_);
    if (use_.steps.size() < FileUse::kMaxSteps) use_.steps.push_back(step);
  }
  void add(StepKind kind, const Held* name = nullptr, const Held* name2 = nullptr) {
    Step step;
    step.kind = kind;
    if (name != nullptr) {
      step.begin = name->begin;
      step.length = name->length;
    }
    if (name2 != nullptr) {
      step.begin2 = name2->begin;
      step.length2 = name2->length;
    }
    names_ |= kind != StepKind::kRoot && kind != StepKind::kLost && kind != StepKind::kSave &&
              kind != StepKind::kRestore && kind != StepKind::kUp && kind != StepKind::kAbout;
    use_.lists |= kind == StepKind::kEntries;
    add(step);
  }
  void put(const Held& handle) {
    Step step;
    step.kind = StepKind::kPut;
    step.file = handle.file;
    add(step);
  }
  void about() {
    about_set_ = true;
    add(StepKind::kAbout);
  }

  // The same procedures of version 2 have other numbers.
  [[nodiscard]] std::uint32_t name_of_nfs2() const {
    constexpr std::array<std::uint32_t, 18> kVersion3 = {0, 1,  2,  0,  3,  5, 6,  0,  7,
                                                         8, 12, 14, 15, 10, 9, 13, 16, 18};
    return rpc_.procedure < kVersion3.size() ? kVersion3[rpc_.procedure] : 0;
  }

  // A procedure of version 3.
  void plain(std::uint32_t procedure) {
    const Held* const first = nth(ItemKind::kHandle, 0);
    const Held* const second = nth(ItemKind::kHandle, 1);
    const Held* const name = nth(ItemKind::kName, 0);
    if (first == nullptr) return;
    put(*first);
    switch (procedure) {
      case 3:   // LOOKUP
      case 8:   // CREATE
      case 9:   // MKDIR
      case 10:  // SYMLINK
      case 11:  // MKNOD
        if (name == nullptr) return;
        add(StepKind::kDown, name);
        about();
        return add(StepKind::kGet);
      case 6:  // READ
        use_.access = FileUse::Access::kRead;
        return about();
      case 7:  // WRITE
        use_.access = FileUse::Access::kWrite;
        return about();
      case 12:  // REMOVE
      case 13:  // RMDIR
        return remove(name);
      case 14:  // RENAME
        if (second == nullptr) return;
        add(StepKind::kSave);
        put(*second);
        return rename(name, nth(ItemKind::kName, 1));
      case 15:  // LINK
        if (second == nullptr) return;
        add(StepKind::kSave);
        about();
        put(*second);
        if (name != nullptr) add(StepKind::kLink, name);
        return;
      case 17:  // READDIRPLUS
        about();
        return add(StepKind::kEntries);
      default:
        return about();
    }
  }

  void remove(const Held* name) {
    if (name == nullptr) return;
    with_child_ = true;
    add(StepKind::kDown, name);
    about();
    add(StepKind::kUp);
    add(StepKind::kRemove, name);
  }

  // The current file is the directory that takes the file, the saved one that which has it.
  void rename(const Held* from, const Held* to) {
    if (from == nullptr || to == nullptr) return;
    with_child_ = true;
    about_saved();
    add_below(state_.about, *from);
    add(StepKind::kRename, from, to);
  }
  void add_below(FileTracker::Place& place, const Held& name) const {
    if (!place.below.empty()) place.below += '/';
    place.below += std::string_view(use_.text).substr(name.begin, name.length);
  }

  // Folds the operations before `end`.
  void advance(std::uint32_t end) {
    for (; next_ < end; ++next_) {
      if (next_ >= rpc_.ops.kept) return;
      operation(rpc_.ops.op[next_]);
      if (next_ == principal_ && !about_set_) about();
      count_ = 0;
    }
  }

  void operation(std::uint32_t op) {
    const Held* const name = nth(ItemKind::kName, 0);
    switch (op) {
      case kPutfh:
        if (const Held* handle = nth(ItemKind::kHandle, 0)) return put(*handle);
        return add(StepKind::kLost);
      case kPutrootfh:
        return add(StepKind::kRoot);
      case kPutpubfh:
      case kOpenattr:
      case kSecinfo:
      case kSecinfoNoName:
        return add(StepKind::kLost);
      case kSavefh:
        return add(StepKind::kSave);
      case kRestorefh:
        return add(StepKind::kRestore);
      case kLookupp:
        return add(StepKind::kUp);
      case kLookup:
      case kCreate:
        return name != nullptr ? add(StepKind::kDown, name) : add(StepKind::kLost);
      case kOpen:  // without a name, it opens the current file
        if (name != nullptr) add(StepKind::kDown, name);
        return;
      case kGetfh:
        return add(StepKind::kGet);
      case kReaddir:
        return add(StepKind::kEntries);
      case kRemove:
        return next_ == principal_ ? remove(name) : remove_only(name);
      case kRename:
        return rename(name, nth(ItemKind::kName, 1));
      case kLink:
        if (next_ == principal_) about_saved();
        if (name != nullptr) add(StepKind::kLink, name);
        return;
      default:
        return;
    }
  }
  void about_saved() {
    state_.about = state_.saved;
    about_set_ = true;
  }
  void remove_only(const Held* name) {
    if (name != nullptr) add(StepKind::kRemove, name);
  }

  FileTracker& tracker_;
  FileUse& use_;
  const RpcInfo& rpc_;
  wire::Bytes args_;
  bool compound_;
  bool about_set_ = false;
  bool with_child_ = false;
  bool names_ = false;
  std::uint32_t next_ = 0;  // operation
  std::uint32_t principal_ = UINT32_MAX;
  std::array<Held, 4> held_;  // items of the operation `next_`
  std::size_t count_ = 0;
  FileTracker::State state_;
};

// Repeats the steps of a Call with the handles in its Reply.
class ReplyFold final : public decode::NfsItemSink {
 public:
  ReplyFold(FileTracker& tracker, FileUse& use, wire::Bytes results)
      : tracker_(tracker), use_(use), results_(results) {}

  void item(const decode::NfsItem& item) override {
    const wire::Bytes bytes = results_.subspan(item.offset, item.length);
    if (item.kind == ItemKind::kCount && use_.access != FileUse::Access::kOther) {
      use_.moved = use_.moved.value_or(0) + item.value;
    }
    const Step* const step = receiver(item.operation);
    if (step != nullptr && step->kind == StepKind::kEntries) return entry(item, bytes);
    if (item.kind != ItemKind::kHandle) return;
    static_cast<void>(keep_value(use_, item, bytes));
    if (step == nullptr) return;
    ++next_;
    FileTracker::Place& current = state_.current;
    const bool is_about = state_.about.version == current.version;
    tracker_.resolve(current, use_.server, bytes, static_cast<std::uint32_t>(item.value));
    if (is_about) state_.about = current;
    resolved_ |= is_about;
  }

  // `status`: of the Reply. If it is an error, operations behind the last item may have failed.
  void finish(std::uint32_t status) {
    while (status == 0 && next_ < use_.steps.size()) run();
    if (resolved_) tracker_.describe(state_.about, false, use_);
  }

 private:
  void run() {
    const Step& step = use_.steps[next_++];
    tracker_.run(use_, step, state_);
    tracker_.apply(use_, step, state_);
  }

  // The step that takes the items of an operation; null: none does.
  const Step* receiver(std::uint32_t operation) {
    for (; next_ < use_.steps.size(); run()) {
      const Step& step = use_.steps[next_];
      if (step.operation > operation) return nullptr;
      if (step.operation == operation &&
          (step.kind == StepKind::kGet || step.kind == StepKind::kEntries)) {
        return &step;
      }
    }
    return nullptr;
  }

  // Names of a directory, each before its handle if it has one.
  void entry(const decode::NfsItem& item, wire::Bytes bytes) {
    if (item.kind == ItemKind::kName) entry_ = text_of_bytes(bytes);
    if (item.kind != ItemKind::kHandle) return;
    const FileTracker::Place& dir = state_.current;
    if (dir.known && dir.below.empty() && !entry_.empty()) {
      const FileRef file =
          tracker_.table_.at(use_.server, bytes, static_cast<std::uint32_t>(item.value));
      tracker_.table_.set_name(file, dir.base, entry_, dir.root);
    }
    entry_ = {};
  }

  FileTracker& tracker_;
  FileUse& use_;
  wire::Bytes results_;
  FileTracker::State state_;
  std::size_t next_ = 0;  // step
  std::string_view entry_;
  bool resolved_ = false;
};

bool FileTracker::is_of_files(const RpcInfo& rpc) {
  return decode::has_nfs_items(rpc.program);
}

void FileTracker::run(const FileUse& use, const Step& step, State& state) {
  Place& current = state.current;
  const auto moved = [&] { ++current.version; };
  switch (step.kind) {
    case StepKind::kPut:
      moved();
      current.move_to(step.file);
      break;
    case StepKind::kRoot:
      moved();
      current.move_to({});
      current.root = true;
      break;
    case StepKind::kLost:
      moved();
      current.move_to({});
      current.known = false;
      break;
    case StepKind::kSave:
      state.saved = current;
      break;
    case StepKind::kRestore: {
      const unsigned version = current.version + 1;
      current = state.saved;
      current.version = version;
      break;
    }
    case StepKind::kDown:
      moved();
      if (current.below.size() < FileTable::kMaxPath) {
        if (!current.below.empty()) current.below += '/';
        current.below += std::string_view(use.text).substr(step.begin, step.length);
      }
      break;
    case StepKind::kUp: {
      moved();
      if (!current.below.empty()) {
        const std::size_t slash = current.below.rfind('/');
        current.below.resize(slash == std::string::npos ? 0 : slash);
        break;
      }
      current.base = table_.parent(current.base);
      current.known = current.base.generation != 0;
      current.root = false;
      break;
    }
    case StepKind::kAbout:
      state.about = current;
      break;
    case StepKind::kGet:
    case StepKind::kEntries:
    case StepKind::kRemove:
    case StepKind::kRename:
    case StepKind::kLink:
      break;
  }
}

// What a Reply confirms.
void FileTracker::apply(const FileUse& use, const Step& step, const State& state) {
  const std::string_view text = use.text;
  const Place& current = state.current;
  const Place& saved = state.saved;
  const auto is_here = [](const Place& place) { return place.known && place.below.empty(); };
  if (!is_here(current)) return;
  const std::string_view name = text.substr(step.begin, step.length);
  switch (step.kind) {
    case StepKind::kRemove:
      table_.remove(current.base, name);
      break;
    case StepKind::kRename: {
      if (!is_here(saved)) return;
      const std::string_view name2 = text.substr(step.begin2, step.length2);
      const FileRef file = table_.child(saved.base, name);
      table_.remove(current.base, name2);
      if (file.generation != 0) table_.set_name(file, current.base, name2);
      break;
    }
    case StepKind::kLink:
      if (is_here(saved) && !table_.is_named(saved.base)) {
        table_.set_name(saved.base, current.base, name);
      }
      break;
    default:
      break;
  }
}

void FileTracker::resolve(Place& place, std::uint64_t server, wire::Bytes handle,
                          std::uint32_t hash) {
  const FileRef file = table_.at(server, handle, hash);
  if (!place.below.empty()) {
    table_.set_name(file, place.base, place.below, place.root);
  } else if (place.root) {
    table_.set_root(file);
  }
  place.move_to(file);
}

// `with_child`: a file that a Call names by its directory is the one that has this name now.
void FileTracker::describe(const Place& about, bool with_child, FileUse& use) {
  std::string& out = use.text;
  const std::size_t begin = out.size();
  if (begin > FileUse::kMaxText) return;
  if (about.root) {
    out += '/';
  } else if (about.known) {
    table_.append_path(about.base, out);
    use.below = table_.top(about.base);
    if (out.size() == begin && !about.below.empty()) use.below = table_.hash(about.base);
  }
  FileRef file = about.known && !about.root ? about.base : FileRef{};
  if (!about.below.empty()) {
    const bool slash = out.size() != begin && out.back() != '/';
    if (slash) out += '/';
    const bool twice = out.size() != begin && about.below.front() == '/';
    out += std::string_view(about.below).substr(twice ? 1 : 0);
    file = with_child ? table_.child(file, about.below) : FileRef{};
  }
  use.name_begin = static_cast<std::uint16_t>(begin);
  use.name_length = static_cast<std::uint16_t>(out.size() - begin);
  use.file = file;
  use.handle = table_.hash(file);
}

void FileTracker::note_call(FileUse& use, const RpcInfo& rpc, std::uint64_t server,
                            wire::Bytes args, std::span<const decode::Removed> removed,
                            std::uint32_t padded_from) {
  use.clear();
  use.server = server;
  CallFold fold(*this, use, rpc, args);
  decode::find_nfs_items({rpc.program, rpc.version, rpc.procedure}, args, removed, padded_from,
                         fold);
  fold.finish();
}

void FileTracker::note_call(FileUse& use, const RpcInfo& rpc, std::uint64_t server,
                            wire::Bytes args, const KeptItems& items) {
  use.clear();
  use.server = server;
  CallFold fold(*this, use, rpc, args);
  items.pass_to(fold);
  fold.finish();
}

void FileTracker::note_reply(FileUse& use, const RpcInfo& rpc, wire::Bytes results,
                             std::span<const std::uint64_t> chunk_lengths) {
  if (use.steps.empty() && use.access == FileUse::Access::kOther) return;
  ReplyFold fold(*this, use, results);
  decode::find_nfs_result_items({rpc.program, rpc.version, rpc.procedure}, results, chunk_lengths,
                                fold);
  fold.finish(rpc.status);
}

}  // namespace rpcrdma::model
