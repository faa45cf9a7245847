// Words for completion: from the schema, from the language, and from the capture.
#include "filter_values.h"

#include "filter_text.h"

#include <algorithm>
#include <map>
#include <set>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/index/search.h>
#include <rpcrdma/report/files.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {

namespace {

using decode::FieldId;
using decode::FieldType;

constexpr std::size_t kMostWords = 256;

QString connection_help(const index::Content& content, std::uint64_t id) {
  if (id == 0 || id > content.connections.size()) return {};
  const index::ConnectionInfo& c = content.connections[id - 1];
  return QString::fromStdString(c.end[0] + " - " + c.end[1]);
}

QString messages_text(std::uint64_t n) {
  return n == 1 ? FilterValues::tr("1 message") : FilterValues::tr("%L1 messages").arg(n);
}

QString rule_words(const std::string& name) {
  const rules::Rule* const rule = rules::find_rule(name);
  return rule != nullptr ? QString(rule->sentence) : QString();
}

}  // namespace

void FilterWords::set(std::vector<FilterWord> words) {
  beginResetModel();
  words_ = std::move(words);
  endResetModel();
}

int FilterWords::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(words_.size());
}

int FilterWords::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 3;
}

QVariant FilterWords::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const FilterWord& word = words_[static_cast<std::size_t>(index.row())];
  if (role == Qt::EditRole && index.column() == 0) return word.text;
  if (role == Qt::DisplayRole) {
    return one_line(index.column() == 0 ? word.text : index.column() == 1 ? word.kind : word.help);
  }
  if (role == Qt::ToolTipRole) return tool_tip(word.help);
  return {};
}

const std::vector<FilterWord>& field_words() {
  static const std::vector<FilterWord> words = [] {
    std::vector<FilterWord> out;
    for (const decode::FieldSpec& field : decode::schema()) {
      if (!filter::is_filter_field(field.id)) continue;
      out.push_back({field.name, decode::type_name(field.type), field.help});
    }
    std::sort(out.begin(), out.end(),
              [](const FilterWord& a, const FilterWord& b) { return a.text < b.text; });
    return out;
  }();
  return words;
}

const std::vector<FilterWord>& join_words() {
  static const std::vector<FilterWord> words = {
      {"&&", {}, FilterValues::tr("and: both parts match")},
      {"||", {}, FilterValues::tr("or: one of the parts matches")},
  };
  return words;
}

std::vector<FilterWord> operator_words(FieldType type) {
  std::vector<FilterWord> words;
  const auto add = [&words](const char* text, const QString& help) {
    words.push_back({text, {}, help});
  };
  const bool text = type == FieldType::kString || type == FieldType::kBytes;
  const bool address =
      type == FieldType::kAddress || type == FieldType::kIpv4 || type == FieldType::kIpv6;
  if (type != FieldType::kSubtree) {
    add("==", FilterValues::tr("a value of the field is equal"));
    add("!=", FilterValues::tr("the field is present, and all its values differ"));
    if (type != FieldType::kBool && !text && !address) {
      add("<", FilterValues::tr("less than"));
      add("<=", FilterValues::tr("less than or equal"));
      add(">", FilterValues::tr("greater than"));
      add(">=", FilterValues::tr("greater than or equal"));
    }
    if (type != FieldType::kBool) {
      add("in {", FilterValues::tr("one of these values: in {a, b, c..d}"));
    }
    if (text) add("contains", FilterValues::tr("contains this string, or these bytes"));
    if (type == FieldType::kString) {
      add("matches", FilterValues::tr("matches this regular expression"));
    }
  }
  words.insert(words.end(), join_words().begin(), join_words().end());
  return words;
}

FilterValues::FilterValues(Document& document, QObject* parent)
    : QObject(parent), document_(document) {
  connect(&document_, &Document::reset, this, [this] {
    known_.clear();
    now_.reset();
  });
}

std::vector<FilterWord> FilterValues::values(FieldId field) {
  const decode::FieldSpec& spec = decode::spec(field);
  std::uint64_t messages = 0;
  document_.store().read([&](const index::Content& c) { messages = c.rows.size(); });
  const auto known = known_.constFind(static_cast<int>(field));
  const bool stale = known == known_.constEnd() || known->messages != messages;
  if (stale && messages != 0) count(field, messages);
  std::vector<FilterWord> words;
  std::set<QString> listed;
  if (field == FieldId::kSource || field == FieldId::kDestination || field == FieldId::kAddress) {
    return addresses();
  }
  if (field == FieldId::kNfsPath || field == FieldId::kNfsName) return files();
  if (known != known_.constEnd() && !known->values.too_many) {
    for (const index::FieldValue& value : known->values.values) {
      FilterWord word;
      if (spec.type == FieldType::kString) {
        word.text =
            spec.values.empty() ? filter_string(value.text) : QString::fromStdString(value.text);
      } else {
        word.text = filter_number(spec, value.number, value.text);
      }
      if (!listed.insert(word.text).second) continue;
      word.kind = messages_text(value.messages);
      if (field == FieldId::kConnection) {
        document_.store().read(
            [&](const index::Content& c) { word.help = connection_help(c, value.number); });
      } else if (field == FieldId::kFinding) {
        word.help = rule_words(value.text);
      } else if (spec.type != FieldType::kString && !value.text.empty()) {
        word.help =
            QString::fromStdString(decode::format_value(spec, value.number, value.text.c_str()));
      }
      words.push_back(std::move(word));
    }
  }
  // Names that the capture does not have, or that were not counted.
  const bool counted_all = known != known_.constEnd() &&
                           index::Search::fields_of_rows().test(static_cast<std::size_t>(field));
  if (spec.type == FieldType::kBool) {
    for (const char* name : {"true", "false"}) {
      if (listed.insert(name).second) words.push_back({name, {}, {}});
    }
  }
  for (const decode::ValueName& v : spec.values) {
    if (words.size() >= kMostWords) break;
    const QString text =
        spec.type == FieldType::kString ? QString(v.name) : filter_number(spec, v.value, v.name);
    if (listed.insert(text).second)
      words.push_back({text, counted_all ? tr("none") : QString(), {}});
  }
  return words;
}

void FilterValues::count(FieldId field, std::uint64_t messages) {
  if (now_) return;
  now_ = field;
  document_.in_background(
      [field](const index::Store& store, const std::atomic<bool>& cancelled) {
        return index::count_values(store, field, cancelled);
      },
      [this, field, messages](index::FieldValues found) {
        now_.reset();
        known_[static_cast<int>(field)] = {messages, std::move(found)};
        Q_EMIT counted(field);
      });
}

// By connection: rows do not have addresses.
std::vector<FilterWord> FilterValues::addresses() const {
  std::map<QString, std::uint64_t> count;
  document_.store().read([&](const index::Content& c) {
    for (std::uint32_t i = 0; i < c.connections.size() && count.size() < kMostWords; ++i) {
      if (c.connections[i].id == 0 || c.canonical(i) != i) continue;
      for (const std::string& end : c.connections[i].end) {
        const QString address = QString::fromStdString(end.substr(0, end.find(' ')));
        if (!address.isEmpty()) ++count[address];
      }
    }
  });
  std::vector<FilterWord> words;
  for (const auto& entry : count) {
    if (!filter::compile("rpcrdma.addr == " + entry.first.toStdString())) continue;
    words.push_back(
        {entry.first,
         entry.second == 1 ? tr("1 connection") : tr("%L1 connections").arg(entry.second),
         {}});
  }
  return words;
}

// From the latest analysis: rows do not have names of files.
std::vector<FilterWord> FilterValues::files() const {
  const auto report = document_.report();
  std::vector<FilterWord> words;
  if (report == nullptr) return words;
  std::set<QString> listed;
  for (const report::FileEntry* file : report::busiest_files(report->files, kMostWords)) {
    if (file->second.name.empty() || words.size() >= kMostWords) continue;
    const QString text = filter_string(report::file_name(*file));
    if (!listed.insert(text).second) continue;
    words.push_back(
        {text,
         file->second.calls() == 1 ? tr("1 Call") : tr("%L1 Calls").arg(file->second.calls()),
         {}});
  }
  return words;
}

}  // namespace rpcrdma::gui
