// Nesting of all kinds.
struct node { struct node *next, *children[4]; union { int i; double d; char text[2 * sizeof(long)]; }; };
union value { struct { unsigned char tag : 3; } bits; };
typedef struct { float re, im; } complex_number, *complex_pointer;
struct open { size_t length; complex_number data[]; };
enum colour { RED = -1, GREEN = 'g' } colour;
