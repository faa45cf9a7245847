#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::decode {
namespace {

TEST(Schema, FieldStandsAtItsId) {
  for (std::size_t i = 0; i < schema().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(schema()[i].id), i) << schema()[i].name;
  }
}

TEST(Schema, NamesAreUnique) {
  std::set<std::string> names;
  for (const FieldSpec& field : schema())
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
}

TEST(Schema, NamesAreWellFormed) {
  for (const FieldSpec& field : schema()) {
    const std::string_view name = field.name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_."), name.npos) << name;
    EXPECT_FALSE(name.empty() || name.front() == '.' || name.back() == '.') << name;
    EXPECT_EQ(name.find(".."), name.npos) << name;
  }
}

TEST(Schema, EveryFieldIsExplained) {
  for (const FieldSpec& field : schema()) {
    EXPECT_STRNE(field.label, "") << field.name;
    EXPECT_STRNE(field.help, "") << field.name;
    EXPECT_EQ(std::string_view(field.help).find('\n'), std::string_view::npos) << field.name;
    EXPECT_FALSE(std::string_view(field.help).ends_with('.')) << field.name;
    EXPECT_EQ(std::string_view(field.help).find('|'), std::string_view::npos) << field.name;
  }
}

TEST(Schema, IntegersHaveABaseAndOthersHaveNone) {
  for (const FieldSpec& field : schema()) {
    EXPECT_EQ(field.type <= FieldType::kInt64, field.base != Base::kNone) << field.name;
  }
}

TEST(Schema, ValuesAreNamedOnce) {
  for (const FieldSpec& field : schema()) {
    std::set<std::uint64_t> values;
    for (const ValueName& entry : field.values) {
      EXPECT_TRUE(values.insert(entry.value).second) << field.name << " " << entry.value;
    }
  }
}

TEST(Schema, FindsAFieldByName) {
  const FieldSpec* field = find_field("rpcrdma.credit");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->id, FieldId::kCredit);
  EXPECT_EQ(find_field("rpcrdma.credi"), nullptr);
}

// A field that uses the value names of another field would mislead: spot checks against the
// specifications.
TEST(Schema, NamesValuesAsTheSpecificationsDo) {
  EXPECT_STREQ(value_name(spec(FieldId::kProc), 1), "RDMA_NOMSG");
  EXPECT_STREQ(value_name(spec(FieldId::kProc), 5), "RDMA2_OPTIONAL");
  EXPECT_STREQ(value_name(spec(FieldId::kError), 2), "ERR_CHUNK");
  EXPECT_STREQ(value_name(spec(FieldId::kError), 3), "RDMA2_ERR_CANT_REPLY");
  EXPECT_STREQ(value_name(spec(FieldId::kRpcCredFlavor), 6), "RPCSEC_GSS");
  EXPECT_STREQ(value_name(spec(FieldId::kRpcAcceptStat), 3), "PROC_UNAVAIL");
  EXPECT_STREQ(value_name(spec(FieldId::kCmAttribute), 0x13), "REP");
  EXPECT_NE(value_name(spec(FieldId::kIbOpcode), 0x17), nullptr);
  EXPECT_NE(value_name(spec(FieldId::kIbNakCode), 2), nullptr);
  EXPECT_NE(value_name(spec(FieldId::kCmReason), 28), nullptr);
  EXPECT_EQ(value_name(spec(FieldId::kProc), 6), nullptr);
}

// To regenerate the file, run this case with RPCRDMA_WRITE_DOCS set in the environment.
TEST(Schema, DocumentedFieldsAreTheTable) {
  if (std::getenv("RPCRDMA_WRITE_DOCS") != nullptr) {
    std::ofstream(RPCRDMA_FIELDS_MD) << schema_markdown();
  }
  std::ostringstream documented;
  documented << std::ifstream(RPCRDMA_FIELDS_MD).rdbuf();
  EXPECT_EQ(documented.str(), schema_markdown()) << "docs/fields.md is not what the schema says";
}

}  // namespace
}  // namespace rpcrdma::decode
