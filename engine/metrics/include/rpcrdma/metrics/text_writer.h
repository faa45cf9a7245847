// Writes metrics as text, OpenMetrics 1.0 or Prometheus's format 0.0.4, for owners with too many
// samples to hold each as an object: an exporter of a host writes some 100,000 at a scrape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rpcrdma::metrics {

enum class TextFormat : std::uint8_t { kOpenMetrics, kText };
enum class TextType : std::uint8_t { kCounter, kGauge };

class TextWriter {
 public:
  // `most`: bytes of the text; samples beyond them are counted, not written.
  explicit TextWriter(TextFormat format, std::size_t most = kMost) : format_(format), most_(most) {}
  static constexpr std::size_t kMost = std::size_t{64} << 20;

  // Begins a family, whose samples follow. A counter's name ends with _total. `help`: UTF-8, for
  // one line. A family without samples is not written. The views are valid until the next call.
  void family(std::string_view name, TextType type, std::string_view help);
  // `labels` and `more`: as add_label() made them, either may be empty. All samples of a family
  // have different labels.
  void sample(std::string_view labels, std::uint64_t value) { sample(labels, {}, value); }
  void sample(std::string_view labels, std::string_view more, std::uint64_t value);
  // Seconds, exactly.
  void milliseconds(std::string_view labels, std::string_view more, std::uint64_t value);

  // Samples that did not fit.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  // Avoids copies while the text grows. `bytes`: a guess.
  void expect(std::size_t bytes) { text_.reserve(bytes < most_ ? bytes : most_); }
  // For samples that say so.
  void make_room(std::size_t bytes) { most_ += bytes; }

  // Without OpenMetrics's EOF.
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] bool begin(std::string_view labels, std::string_view more);
  void header();

  const TextFormat format_;
  std::size_t most_;
  std::string text_;
  std::string_view name_, help_;  // of the family
  TextType type_ = TextType::kGauge;
  bool has_header_ = false;
  std::uint64_t left_out_ = 0;
};

// Appends `name="value"`, after a comma if it is not the first. `value`: UTF-8; it is escaped.
void add_label(std::string& labels, std::string_view name, std::string_view value);

}  // namespace rpcrdma::metrics
