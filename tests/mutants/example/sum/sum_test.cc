// Without GoogleTest, to be compiled quickly.
#include "sum.h"

int main() {
  example::Sum sum;
  const bool good = sum.add(4) && sum.add(6) && !sum.add(1) && sum.value() == 10;
  const int numbers[] = {3, 7, 5};
  return good && example::largest(numbers, numbers + 3) == 7 ? 0 : 1;
}
