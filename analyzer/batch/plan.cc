#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <new>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/thread.h>
#include <rpcrdma/batch/plan.h>

namespace rpcrdma::batch {

namespace {

// In a directory, other files are no damaged captures.
bool is_other(const Input& input, const Scan& scan) {
  return input.found && (scan.empty || !scan.unreadable.empty()) && !is_capture_name(input.path);
}

std::vector<Scan> scan_all(const std::vector<Input>& inputs, std::uint32_t head, unsigned threads,
                           const std::function<void(std::size_t)>& tick) {
  std::vector<Scan> scans(inputs.size());
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<bool> no_memory{false};
  // No exception may leave a thread.
  const auto work = [&]() noexcept {
    for (std::size_t i = next++; i < inputs.size(); i = next++) {
      try {
        if (!no_memory) scans[i] = scan_file(inputs[i].path, head);
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
      ++done;
    }
  };
  std::vector<std::thread> team;
  team.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    auto started = base::start_thread(work);
    if (!started) break;  // the existing ones do the work
    team.push_back(std::move(*started));
  }
  if (team.empty()) work();
  try {
    while (done < inputs.size()) {
      tick(done);
      std::this_thread::sleep_for(std::chrono::milliseconds(inputs.size() < 64 ? 1 : 20));
    }
  } catch (const std::bad_alloc&) {
    no_memory = true;
  }
  for (std::thread& thread : team) thread.join();
  if (no_memory) throw std::bad_alloc();
  return scans;
}

std::string counted(std::size_t n, const char* one, const char* more) {
  return n == 1 ? fmt::format("1 file {}", one) : fmt::format("{} files {}", n, more);
}

}  // namespace

Plan make_plan(const std::vector<Input>& inputs, const Settings& settings,
               const std::string& folder, unsigned threads,
               const std::function<void(std::size_t)>& tick) {
  Plan plan;
  plan.settings = settings;
  plan.folder = folder;
  const std::vector<Scan> scans = scan_all(inputs, settings.scan, threads, tick);
  const bool any = std::any_of(scans.begin(), scans.end(),
                               [](const Scan& s) { return s.unreadable.empty() && !s.empty; });
  std::vector<ScannedFile> scanned;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    PlannedFile file{input.path, input.size, input.mtime_ns, scans[i].unreadable};
    if (is_other(input, scans[i])) {
      plan.others.push_back(std::move(file));
      continue;
    }
    // As for `analyze`, an empty file among others is damage that changes nothing.
    if (scans[i].empty && !any) file.unreadable = "the file is empty";
    scanned.push_back({scans[i], input.size, ring_of(input.path)});
    scanned.back().scan.unreadable = file.unreadable;
    plan.files.push_back(std::move(file));
  }
  plan.units = make_units(scanned, settings.slice);
  return plan;
}

std::string changes_since(const Plan& plan, const std::vector<Input>& inputs,
                          const std::string& folder) {
  std::map<std::string, const PlannedFile*> known;
  for (const auto* const list : {&plan.files, &plan.others}) {
    for (const PlannedFile& file : *list) known.emplace(file.path, &file);
  }
  std::size_t fresh = 0, changed = 0;
  bool relative = false;
  for (const Input& input : inputs) {
    relative |= !input.path.starts_with("/");
    const auto at = known.find(input.path);
    if (at == known.end()) {
      ++fresh;
      continue;
    }
    changed += at->second->size != input.size || at->second->mtime_ns != input.mtime_ns ? 1U : 0U;
    known.erase(at);
  }
  std::vector<std::string> parts;
  if (relative && folder != plan.folder) {
    parts.push_back(fmt::format("their paths are relative to {}", plan.folder));
  }
  if (fresh != 0) parts.push_back(counted(fresh, "is new", "are new"));
  if (changed != 0) parts.push_back(counted(changed, "has changed", "have changed"));
  if (!known.empty()) parts.push_back(counted(known.size(), "is gone", "are gone"));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace rpcrdma::batch
