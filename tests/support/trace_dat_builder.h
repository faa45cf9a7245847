// Builds trace.dat files, and the pages and formats in them: any byte order, version, number of
// CPUs and buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zstd.h>

namespace rpcrdma::test {

using TraceBytes = std::vector<std::uint8_t>;

// Writes numbers in the byte order of the traced machine.
class OrderedBytes {
 public:
  explicit OrderedBytes(bool big_endian = false) : big_(big_endian) {}

  template <typename T>
  OrderedBytes& put(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      const std::size_t shift = 8 * (big_ ? sizeof value - 1 - i : i);
      bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> shift));
    }
    return *this;
  }
  OrderedBytes& u16(std::uint64_t v) { return put(static_cast<std::uint16_t>(v)); }
  OrderedBytes& u32(std::uint64_t v) { return put(static_cast<std::uint32_t>(v)); }
  OrderedBytes& u64(std::uint64_t v) { return put(v); }
  OrderedBytes& text(std::string_view t) {
    bytes.insert(bytes.end(), t.begin(), t.end());
    return *this;
  }
  OrderedBytes& word(std::string_view t) {
    text(t);
    bytes.push_back(0);
    return *this;
  }
  OrderedBytes& raw(const TraceBytes& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
  void set_u64(std::size_t at, std::uint64_t v) {
    OrderedBytes o(big_);
    o.u64(v);
    std::memcpy(bytes.data() + at, o.bytes.data(), 8);
  }
  void pad_to(std::size_t multiple) {
    while (bytes.size() % multiple != 0) bytes.push_back(0);
  }
  [[nodiscard]] bool big_endian() const { return big_; }

  TraceBytes bytes;

 private:
  bool big_;
};

inline const char* const kHeaderPage =
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

// A format, and records of it. Fields follow the common ones in order, aligned to their size.
class EventFormat {
 public:
  struct FieldOf {
    std::string name;
    std::size_t size = 4;  // of a number; 0: a string of any length
    bool is_signed = false;
    std::size_t offset = 0;
  };

  EventFormat(std::string name, std::uint16_t id, std::vector<FieldOf> fields,
              std::string print = {})
      : name_(std::move(name)), id_(id), fields_(std::move(fields)), print_(std::move(print)) {
    std::size_t at = 8;
    for (FieldOf& f : fields_) {
      const std::size_t size = f.size == 0 ? 4 : f.size;
      at = (at + size - 1) / size * size;
      f.offset = at;
      at += size;
    }
    end_ = at;
  }

  [[nodiscard]] std::string text() const {
    std::string t = "name: " + name_ + "\nID: " + std::to_string(id_) +
                    "\nformat:\n"
                    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    for (const FieldOf& f : fields_) {
      t += "\tfield:";
      t += f.size == 0 ? "__data_loc char[] " : "u32 ";
      t += f.name + ";\toffset:" + std::to_string(f.offset) +
           ";\tsize:" + std::to_string(f.size == 0 ? 4 : f.size) +
           ";\tsigned:" + (f.is_signed ? "1" : "0") + ";\n";
    }
    return t + "\nprint fmt: " + (print_.empty() ? "\"\"" : print_) + "\n";
  }
  // `values`: numbers for numbers; strings in order for strings.
  [[nodiscard]] TraceBytes record(std::int32_t pid, const std::vector<std::uint64_t>& values,
                                  const std::vector<std::string>& strings = {},
                                  bool big_endian = false) const {
    OrderedBytes r(big_endian);
    r.u16(id_).u16(0).u32(static_cast<std::uint32_t>(pid));
    std::size_t number = 0, string = 0, data_at = end_;
    TraceBytes data;
    for (const FieldOf& f : fields_) {
      while (r.bytes.size() < f.offset) r.bytes.push_back(0);
      if (f.size == 0) {
        const std::string& s = strings.at(string++);
        r.u32((s.size() + 1) << 16U | data_at);
        data.insert(data.end(), s.begin(), s.end());
        data.push_back(0);
        data_at += s.size() + 1;
        continue;
      }
      const std::uint64_t v = values.at(number++);
      switch (f.size) {
        case 1:
          r.put(static_cast<std::uint8_t>(v));
          break;
        case 2:
          r.u16(v);
          break;
        case 4:
          r.u32(v);
          break;
        default:
          r.u64(v);
      }
    }
    r.raw(data);
    return r.bytes;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::uint16_t id_;
  std::vector<FieldOf> fields_;
  std::string print_;
  std::size_t end_ = 8;
};

// The pages of one CPU. Records come in order of time.
class PagesBuilder {
 public:
  explicit PagesBuilder(bool big_endian = false, std::size_t page_bytes = 4096)
      : big_(big_endian), page_bytes_(page_bytes) {}

  void add(std::uint64_t time, const TraceBytes& record) {
    constexpr std::size_t kMostRecord = 8 + 8 + 4;
    if (open_ && 16 + used_.size() + kMostRecord + record.size() > page_bytes_) close();
    if (!open_) {
      open_ = true;
      page_time_ = last_ = time;
    }
    OrderedBytes o(big_);
    std::uint64_t delta = time - last_;
    if (delta >= (1U << 27U)) {
      head(o, 30, static_cast<std::uint32_t>(delta & ((1U << 27U) - 1)));
      o.u32(delta >> 27U);
      delta = 0;
    }
    const std::size_t padded = (record.size() + 3) / 4 * 4;
    if (padded <= 28 * 4 && padded != 0) {
      head(o, static_cast<std::uint32_t>(padded / 4), static_cast<std::uint32_t>(delta));
    } else {
      head(o, 0, static_cast<std::uint32_t>(delta));
      o.u32(padded + 4);
    }
    o.raw(record);
    o.pad_to(4);
    used_.insert(used_.end(), o.bytes.begin(), o.bytes.end());
    last_ = time;
  }
  // Records were lost before the next page; 0: an unknown number.
  void lose(std::uint64_t count) {
    close();
    lost_ = true;
    lost_count_ = count;
  }
  // The pages so far.
  const TraceBytes& pages() {
    close();
    return pages_;
  }

 private:
  void head(OrderedBytes& o, std::uint32_t type, std::uint32_t delta) const {
    o.u32(big_ ? type << 27U | delta : delta << 5U | type);
  }
  void close() {
    if (!open_) return;
    open_ = false;
    OrderedBytes page(big_);
    std::uint64_t commit = used_.size();
    if (lost_) commit |= std::uint64_t{1} << 31U;
    if (lost_ && lost_count_ != 0) commit |= std::uint64_t{1} << 30U;
    page.u64(page_time_).u64(commit).raw(used_);
    if (lost_ && lost_count_ != 0) page.u64(lost_count_);
    lost_ = false;
    page.bytes.resize(page_bytes_);
    pages_.insert(pages_.end(), page.bytes.begin(), page.bytes.end());
    used_.clear();
  }

  bool big_;
  std::size_t page_bytes_;
  TraceBytes pages_, used_;
  bool open_ = false;
  std::uint64_t page_time_ = 0, last_ = 0;
  bool lost_ = false;
  std::uint64_t lost_count_ = 0;
};

struct TraceDatBuilder {
  bool big_endian = false;
  std::uint32_t page_bytes = 4096;
  std::string header_page = kHeaderPage;
  std::vector<std::pair<std::string, std::vector<std::string>>> systems;  // name, formats
  std::vector<std::vector<TraceBytes>> buffers;  // the pages of each CPU; the first is the top one
  std::vector<std::pair<std::uint16_t, TraceBytes>> options;

  static TraceBytes option_text(std::string_view text) {
    TraceBytes bytes(text.begin(), text.end());
    bytes.push_back(0);
    return bytes;
  }

  [[nodiscard]] TraceBytes version6() const {
    OrderedBytes f(big_endian);
    head(f, "6");
    header_info(f);
    f.u32(0);
    formats(f);
    f.u32(0).u32(0).u64(0);
    const std::size_t cpus = buffers.empty() ? 0 : buffers.front().size();
    f.u32(cpus);
    f.word("options  ");
    std::vector<std::size_t> offsets_at;
    for (std::size_t b = 1; b < buffers.size(); ++b) {
      f.u16(3).u32(8 + 5);
      offsets_at.push_back(f.bytes.size());
      f.u64(0).word("more");
    }
    for (const auto& [id, data] : options) f.u16(id).u32(data.size()).raw(data);
    f.u16(0);
    std::vector<std::size_t> tables;
    for (std::size_t b = 0; b < std::max<std::size_t>(buffers.size(), 1); ++b) {
      if (b > 0) f.set_u64(offsets_at[b - 1], f.bytes.size());
      f.word("flyrecord");
      tables.push_back(f.bytes.size());
      for (std::size_t c = 0; c < cpus; ++c) f.u64(0).u64(0);
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      for (std::size_t c = 0; c < cpus; ++c) {
        f.pad_to(page_bytes);
        f.set_u64(tables[b] + 16 * c, f.bytes.size());
        f.set_u64(tables[b] + 16 * c + 8, buffers[b][c].size());
        f.raw(buffers[b][c]);
      }
    }
    return f.bytes;
  }

  [[nodiscard]] TraceBytes version7(bool compress) const {
    OrderedBytes f(big_endian);
    head(f, "7");
    f.word(compress ? "zstd" : "none").word(compress ? "1.5.4" : "");
    const std::size_t options_at = f.bytes.size();
    f.u64(0);
    OrderedBytes info(big_endian), list(big_endian), opt(big_endian);
    header_info(info);
    const std::uint64_t info_at = section(f, 16, info.bytes, compress);
    formats(list);
    const std::uint64_t formats_at = section(f, 18, list.bytes, compress);
    opt.u16(16).u32(8).u64(info_at).u16(18).u32(8).u64(formats_at);
    for (const auto& [id, data] : options) opt.u16(id).u32(data.size()).raw(data);
    for (const auto& buffer : buffers) {
      const std::uint64_t at = f.bytes.size();
      f.u16(3).u16(compress ? 1 : 0).u32(0).u64(0);
      OrderedBytes o(big_endian);
      o.u64(at).word("").word("mono").u32(page_bytes).u32(buffer.size());
      for (std::size_t c = 0; c < buffer.size(); ++c) {
        if (!compress) f.pad_to(page_bytes);
        const std::size_t begin = f.bytes.size();
        if (compress) {
          put_chunks(f, buffer[c]);
        } else {
          f.raw(buffer[c]);
        }
        o.u32(c).u64(begin).u64(f.bytes.size() - begin);
      }
      f.set_u64(at + 8, f.bytes.size() - at - 16);
      opt.u16(3).u32(o.bytes.size()).raw(o.bytes);
    }
    opt.u16(0).u32(8).u64(0);
    f.set_u64(options_at, f.bytes.size());
    f.u16(0).u16(0).u32(0).u64(opt.bytes.size()).raw(opt.bytes);
    return f.bytes;
  }

 private:
  void head(OrderedBytes& f, std::string_view version) const {
    f.text("\x17\x08\x44tracing").word(version);
    f.put(static_cast<std::uint8_t>(big_endian ? 1 : 0)).put(std::uint8_t{8}).u32(page_bytes);
  }
  void header_info(OrderedBytes& f) const {
    f.word("header_page").u64(header_page.size()).text(header_page);
    f.word("header_event").u64(5).text("# me\n");
  }
  void formats(OrderedBytes& f) const {
    f.u32(systems.size());
    for (const auto& [system, list] : systems) {
      f.word(system).u32(list.size());
      for (const std::string& format : list) f.u64(format.size()).text(format);
    }
  }
  static TraceBytes compressed(const TraceBytes& content) {
    TraceBytes out(ZSTD_compressBound(content.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
    return out;
  }
  std::uint64_t section(OrderedBytes& f, std::uint16_t id, const TraceBytes& content,
                        bool compress) const {
    const std::uint64_t at = f.bytes.size();
    f.u16(id).u16(compress ? 1 : 0).u32(0);
    if (compress) {
      const TraceBytes packed = compressed(content);
      f.u64(packed.size() + 8).u32(packed.size()).u32(content.size()).raw(packed);
    } else {
      f.u64(content.size()).raw(content);
    }
    return at;
  }
  void put_chunks(OrderedBytes& f, const TraceBytes& pages) const {
    const std::size_t chunk = std::size_t{page_bytes} * 10;
    f.u32((pages.size() + chunk - 1) / chunk);
    for (std::size_t at = 0; at < pages.size(); at += chunk) {
      const TraceBytes part(
          pages.begin() + static_cast<std::ptrdiff_t>(at),
          pages.begin() + static_cast<std::ptrdiff_t>(std::min(pages.size(), at + chunk)));
      const TraceBytes packed = compressed(part);
      f.u32(packed.size()).u32(part.size()).raw(packed);
    }
  }
};

}  // namespace rpcrdma::test
