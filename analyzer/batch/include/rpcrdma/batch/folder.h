// The state of a batch on disk: DIR/plan.json, a report for each unit that is done, and the claims
// of processes on units. It is right at every moment, so a process may be killed at any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/batch/plan.h>

namespace rpcrdma::batch {

// Held by a process while it lives, on this or another machine.
class Claim {
 public:
  enum class Taken : std::uint8_t {
    kYes,
    kBusy,         // another process has it
    kUnsupported,  // the file system has no locks: every process has it
  };

  // Errors: the file cannot be created.
  [[nodiscard]] static base::Expected<Claim> take(const std::string& path);

  [[nodiscard]] Taken taken() const { return taken_; }
  // How often a process had the claim before and did not give it back, because it ended.
  [[nodiscard]] std::size_t abandoned() const { return abandoned_; }
  // Removes the file.
  void give_back();

 private:
  std::string path_;
  base::FileDescriptor fd_;
  Taken taken_ = Taken::kYes;
  std::size_t abandoned_ = 0;
};

class Folder {
 public:
  // `path`: as the user named it; it need not exist.
  explicit Folder(const std::string& path);

  // Creates it with what is in it.
  [[nodiscard]] base::Expected<void> create() const;
  // Removes everything that a batch writes, but no other file. Error: a process still works on a
  // unit, or a file cannot be removed.
  [[nodiscard]] base::Expected<void> clear() const;

  [[nodiscard]] const std::string& path() const { return path_; }  // absolute
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string plan() const { return file("plan.json"); }
  [[nodiscard]] std::string report() const { return file("report.json"); }
  [[nodiscard]] std::string damaged() const { return file("damaged.txt"); }
  [[nodiscard]] std::string logs() const { return file("logs"); }
  // The files of a unit: its report, its damaged files, why it failed, and the claim on it.
  [[nodiscard]] std::string unit(std::size_t unit) const { return of_unit(unit, ".json"); }
  [[nodiscard]] std::string unit_damaged(std::size_t unit) const {
    return of_unit(unit, ".damaged");
  }
  [[nodiscard]] std::string unit_failed(std::size_t unit) const { return of_unit(unit, ".failed"); }
  [[nodiscard]] std::string claim(std::size_t unit) const { return of_unit(unit, ".claim"); }

  [[nodiscard]] bool has_plan() const;
  [[nodiscard]] bool done(std::size_t unit) const;
  // Errors name the file.
  [[nodiscard]] base::Expected<Plan> read_plan() const;
  // The units that are not done, from 0.
  [[nodiscard]] std::vector<std::size_t> undone(const Plan& plan) const;

 private:
  [[nodiscard]] std::string of_unit(std::size_t unit, const char* ending) const;

  std::string path_;
};

}  // namespace rpcrdma::batch
