#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/batch/plan.h>
#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::batch {

namespace {

using nlohmann::json;

// The library would convert a fraction or a number that does not fit.
template <typename T>
T integer(const json& value) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>())) {
    return static_cast<T>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<T>(value.get<std::int64_t>())) {
    return static_cast<T>(value.get<std::int64_t>());
  }
  throw std::out_of_range("not such an integer");
}

template <typename T>
std::vector<T> integers(const json& list) {
  if (!list.is_array()) throw std::invalid_argument("not a list");
  std::vector<T> numbers;
  for (const json& one : list) numbers.push_back(integer<T>(one));
  return numbers;
}

// Names of files are bytes, and JSON is Unicode: other names are written in hexadecimal.
json name_json(const std::string& name) {
  if (decode::valid_utf8(name) == name) return name;
  std::string hex;
  for (const char c : name) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", hex}};
}

std::string name_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string hex = value.at("hex").get<std::string>();
  std::string name;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    name += static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16));
  }
  return name;
}

json files_json(const std::vector<PlannedFile>& files) {
  json list = json::array();
  for (const PlannedFile& file : files) {
    json one{{"path", name_json(file.path)}, {"bytes", file.size}, {"mtime_ns", file.mtime_ns}};
    if (!file.unreadable.empty()) one["unreadable"] = name_json(file.unreadable);
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<PlannedFile> files_of(const json& list) {
  std::vector<PlannedFile> files;
  for (const json& one : list) {
    files.push_back({name_of(one.at("path")), integer<std::uint64_t>(one.at("bytes")),
                     integer<std::int64_t>(one.at("mtime_ns")),
                     one.contains("unreadable") ? name_of(one["unreadable"]) : ""});
  }
  return files;
}

json settings_json(const Settings& s) {
  return {{"profile", s.profile},
          {"dialect", s.dialect},
          {"check_icrc", s.check_icrc},
          {"filter", name_json(s.filter)},
          {"slow", s.slow},
          {"vxlan_ports", s.vxlan_ports},
          {"slice", s.slice},
          {"scan", s.scan}};
}

Settings settings_of(const json& o) {
  return {o.at("profile").get<std::string>(),
          o.at("dialect").get<std::string>(),
          o.at("check_icrc").get<bool>(),
          name_of(o.at("filter")),
          o.at("slow").get<std::vector<std::string>>(),
          integers<std::uint16_t>(o.at("vxlan_ports")),
          integer<std::uint32_t>(o.at("slice")),
          integer<std::uint32_t>(o.at("scan"))};
}

// Every file that can be read is in exactly one unit.
bool is_complete(const Plan& plan) {
  std::vector<bool> taken(plan.files.size());
  for (const Unit& unit : plan.units) {
    for (const Cluster& cluster : unit.clusters) {
      for (const std::uint32_t file : cluster) {
        if (file >= taken.size() || taken[file] || !plan.files[file].unreadable.empty()) {
          return false;
        }
        taken[file] = true;
      }
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i] && plan.files[i].unreadable.empty()) return false;
  }
  return true;
}

Plan plan_of(const json& o) {
  Plan plan;
  plan.settings = settings_of(o.at("settings"));
  plan.folder = name_of(o.at("folder"));
  plan.files = files_of(o.at("files"));
  plan.others = files_of(o.at("others"));
  for (const json& unit : o.at("units")) {
    if (!unit.is_array()) throw std::invalid_argument("not a list");
    Unit& added = plan.units.emplace_back();
    for (const json& cluster : unit) added.clusters.push_back(integers<std::uint32_t>(cluster));
  }
  return plan;
}

}  // namespace

std::string write_plan(const Plan& plan) {
  json units = json::array();
  for (const Unit& unit : plan.units) units.push_back(unit.clusters);
  const json whole{{"schema", kPlanSchema},
                   {"settings", settings_json(plan.settings)},
                   {"folder", name_json(plan.folder)},
                   {"files", files_json(plan.files)},
                   {"others", files_json(plan.others)},
                   {"units", std::move(units)}};
  return whole.dump() + "\n";
}

base::Expected<Plan> read_plan(std::string_view text) {
  const json whole = json::parse(text, nullptr, false);
  if (!whole.is_object()) return base::fail("is not JSON");
  // The library reports a wrong type by an exception.
  try {
    const auto schema = whole.at("schema").get<std::string>();
    if (schema != kPlanSchema) return base::fail("is of another version: use --restart");
    Plan plan = plan_of(whole);
    if (!is_complete(plan)) return base::fail("has units that do not fit its files");
    return plan;
  } catch (const std::exception&) {
    return base::fail("is not a plan of analyze-many");
  }
}

}  // namespace rpcrdma::batch
