// The place where the precompiled header of the tests is made. A program, since the tests are: both need the same code
// model.
int main() { return 0; }
