#include <gtest/gtest.h>
#include "fleet_page.h"
TEST(X,Y){}
