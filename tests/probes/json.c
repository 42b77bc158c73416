/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * json [-r] [-c] FILTER [FILE...]: what `jq` prints, for the part of its language that the tests
 * use most. An emulated processor takes a third of a second to start jq and hundreds of those are
 * the most of a guest's time; this starts in a hundredth. Whatever it does not know it hands to jq
 * itself, options, filter and input: it never guesses.
 *
 * Known: . .name ."name" .["name"] .[0] .[] literals [e] e,e e|e and or == != < <= > >= + -
 * length keys not type has() index() select() map() any().
 */

#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind {
	IDENTITY,
	LITERAL,
	FIELD, /* of what a gives, the name is value */
	ITEM,  /* of what a gives, the number is value */
	EACH,
	ARRAY,
	PIPE,
	COMMA,
	BINARY,
	CALL,
};

struct node {
	enum kind kind;
	const char *name; /* operator or function */
	json_t *value;
	struct node *a;
	struct node *b;
};

static char **arguments;
static char *input; /* what was read of standard input */
static size_t input_size;
static const char *at; /* the rest of the filter */
static bool is_raw;
static bool is_compact;

/* The real one, with the same input again. */
static _Noreturn void hand_on(void)
{
	if (input) {
		int fd = memfd_create("input", 0);

		if (fd < 0 || write(fd, input, input_size) != (ssize_t)input_size ||
			lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, 0) < 0)
			exit(125);
	}
	arguments[0] = "jq";
	execvp("jq", arguments);
	perror("jq");
	exit(127);
}

/* ---- The filter, read -------------------------------------------------------------------------
 */

static struct node *new_node(enum kind kind, struct node *a, struct node *b)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		hand_on();
	node->kind = kind;
	node->a = a;
	node->b = b;
	return node;
}

static void skip_blanks(void)
{
	while (isspace((unsigned char)*at))
		at++;
}

static bool take(const char *token)
{
	size_t length = strlen(token);

	skip_blanks();
	if (strncmp(at, token, length) != 0)
		return false;
	if (isalpha((unsigned char)*token) &&
		(isalnum((unsigned char)at[length]) || at[length] == '_'))
		return false;
	at += length;
	return true;
}

static void expect(const char *token)
{
	if (!take(token))
		hand_on();
}

static json_t *read_string(void)
{
	json_error_t error;
	json_t *value = json_loads(at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);

	if (!json_is_string(value) || strstr(json_string_value(value), "\\("))
		hand_on();
	at += error.position;
	return value;
}

static char *read_word(void)
{
	const char *begin = at;

	if (isalpha((unsigned char)*at) || *at == '_')
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
	return at == begin ? NULL : strndup(begin, (size_t)(at - begin));
}

static json_t *read_number(void)
{
	char *end;
	long long number = strtoll(at, &end, 10);

	if (end == at || *end == '.' || *end == 'e' || *end == 'E')
		hand_on();
	at = end;
	return json_integer(number);
}

static struct node *read_pipe(void);

static struct node *read_bracket(struct node *of)
{
	struct node *node;

	skip_blanks();
	if (take("]"))
		return new_node(EACH, of, NULL);
	node = new_node(*at == '"' ? FIELD : ITEM, of, NULL);
	node->value = *at == '"' ? read_string() : read_number();
	expect("]");
	return node;
}

/* What may follow a term: .name, ."name", [...] */
static struct node *read_suffixes(struct node *node, bool is_after_dot)
{
	for (;; is_after_dot = false) {
		if (is_after_dot || (*at == '.' && at[1] != '.')) {
			struct node *field = new_node(FIELD, node, NULL);
			char *word;

			at += !is_after_dot;
			if (*at == '"') {
				field->value = read_string();
			} else if (*at == '[') {
				continue;
			} else {
				word = read_word();
				if (!word && is_after_dot)
					return node;
				if (!word)
					hand_on();
				field->value = json_string(word);
			}
			node = field;
		} else if (*at == '[') {
			at++;
			node = read_bracket(node);
		} else {
			return node;
		}
	}
}

static struct node *read_call(char *word)
{
	static const char *const plain[] = {"length", "keys", "not", "type"};
	static const char *const with_one[] = {"has", "index", "select", "map", "any"};
	struct node *node = new_node(CALL, NULL, NULL);

	node->name = word;
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strcmp(word, plain[i]) == 0)
			return node;
	for (size_t i = 0; i < sizeof(with_one) / sizeof(*with_one); i++) {
		if (strcmp(word, with_one[i]) != 0)
			continue;
		expect("(");
		node->a = read_pipe();
		expect(")");
		return node;
	}
	hand_on();
}

static struct node *read_term(void)
{
	struct node *node;

	skip_blanks();
	if (*at == '.') {
		at++;
		return read_suffixes(new_node(IDENTITY, NULL, NULL), true);
	}
	if (take("(")) {
		node = read_pipe();
		expect(")");
		return read_suffixes(node, false);
	}
	if (take("[")) {
		node = new_node(ARRAY, NULL, NULL);
		if (take("]"))
			return node;
		node->a = read_pipe();
		expect("]");
		return read_suffixes(node, false);
	}
	node = new_node(LITERAL, NULL, NULL);
	if (*at == '"')
		node->value = read_string();
	else if (isdigit((unsigned char)*at) || *at == '-')
		node->value = read_number();
	else if (take("null"))
		node->value = json_null();
	else if (take("true"))
		node->value = json_true();
	else if (take("false"))
		node->value = json_false();
	else
		return read_call(read_word() ?: (hand_on(), NULL));
	return node;
}

/* Loosest first; those of one level bind from the left. */
static const char *const levels[][7] = {
	{"or"},
	{"and"},
	{"==", "!=", "<=", ">=", "<", ">"},
	{"+", "-"},
};

#define LEVELS (sizeof(levels) / sizeof(*levels))

static struct node *read_binary(size_t level)
{
	struct node *node = level == LEVELS ? read_term() : read_binary(level + 1);

	for (size_t i = 0; level < LEVELS && levels[level][i];) {
		if (!take(levels[level][i])) {
			i++;
			continue;
		}
		node = new_node(BINARY, node, read_binary(level + 1));
		node->name = levels[level][i];
		i = 0;
	}
	return node;
}

static struct node *read_comma(void)
{
	struct node *node = read_binary(0);

	while (take(","))
		node = new_node(COMMA, node, read_binary(0));
	return node;
}

static struct node *read_pipe(void)
{
	struct node *node = read_comma();

	return take("|") ? new_node(PIPE, node, read_pipe()) : node;
}

/* ---- The filter, applied -----------------------------------------------------------------------
 */

static bool is_true(const json_t *value)
{
	return !json_is_null(value) && !json_is_false(value);
}

static int order(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b))
		return (json_integer_value(a) > json_integer_value(b)) -
		       (json_integer_value(a) < json_integer_value(b));
	if (json_is_string(a) && json_is_string(b))
		return strcmp(json_string_value(a), json_string_value(b));
	hand_on();
}

/* What jq might write or compare differently: fractions, numbers that a double does not hold, and
 * some control characters. */
static bool is_written_alike(const json_t *value)
{
	const char *name;
	json_t *item;
	size_t i;

	if (json_is_real(value))
		return false;
	if (json_is_integer(value))
		return llabs(json_integer_value(value)) < 1LL << 53;
	if (json_is_string(value))
		for (const char *c = json_string_value(value); *c; c++)
			if (((unsigned char)*c < ' ' && !strchr("\b\f\n\r\t", *c)) || *c == 0x7f)
				return false;
	json_array_foreach (value, i, item)
		if (!is_written_alike(item))
			return false;
	json_object_foreach ((json_t *)value, name, item)
		if (!is_written_alike(item))
			return false;
	return true;
}

static json_t *plus_or_minus(const char *name, json_t *a, json_t *b)
{
	json_int_t sign = *name == '+' ? 1 : -1;

	if (!json_is_integer(a) || !json_is_integer(b))
		hand_on();
	return json_integer(json_integer_value(a) + sign * json_integer_value(b));
}

static json_t *binary(const char *name, json_t *a, json_t *b)
{
	if (!is_written_alike(a) || !is_written_alike(b))
		hand_on();
	if (strcmp(name, "and") == 0)
		return json_boolean(is_true(a) && is_true(b));
	if (strcmp(name, "or") == 0)
		return json_boolean(is_true(a) || is_true(b));
	if (strcmp(name, "==") == 0)
		return json_boolean(json_equal(a, b));
	if (strcmp(name, "!=") == 0)
		return json_boolean(!json_equal(a, b));
	if (*name == '<')
		return json_boolean(name[1] ? order(a, b) <= 0 : order(a, b) < 0);
	if (*name == '>')
		return json_boolean(name[1] ? order(a, b) >= 0 : order(a, b) > 0);
	return plus_or_minus(name, a, b);
}

static json_t *field_of(json_t *from, const json_t *key)
{
	json_t *value = json_object_get(from, json_string_value(key));

	if (!json_is_object(from) && !json_is_null(from))
		hand_on();
	return value ?: json_null();
}

static json_t *item_of(json_t *from, const json_t *number)
{
	json_int_t i = json_integer_value(number);
	json_t *value;

	if (!json_is_array(from) && !json_is_null(from))
		hand_on();
	if (i < 0)
		i += (json_int_t)json_array_size(from);
	value = i < 0 ? NULL : json_array_get(from, (size_t)i);
	return value ?: json_null();
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *keys_of(json_t *object)
{
	const char **names = calloc(json_object_size(object) + 1, sizeof(*names));
	json_t *keys = json_array();
	const char *name;
	json_t *value;
	size_t count = 0;

	if (!json_is_object(object) || !names)
		hand_on();
	json_object_foreach (object, name, value)
		names[count++] = name;
	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(keys, json_string(names[i]));
	return keys;
}

static json_t *length_of(json_t *value)
{
	if (json_is_array(value))
		return json_integer((json_int_t)json_array_size(value));
	if (json_is_object(value))
		return json_integer((json_int_t)json_object_size(value));
	if (json_is_null(value))
		return json_integer(0);
	hand_on();
}

static json_t *type_of(json_t *value)
{
	static const char *const names[] = {
		"object", "array", "string", "number", "number", "boolean", "boolean", "null"};

	return json_string(names[json_typeof(value)]);
}

static json_t *index_of(json_t *list, json_t *wanted)
{
	json_t *item;
	size_t i;

	/* In a string, or of a part of a list, it means something else. */
	if (!json_is_array(list) || json_is_array(wanted))
		hand_on();
	json_array_foreach (list, i, item)
		if (json_equal(item, wanted))
			return json_integer((json_int_t)i);
	return json_null();
}

static json_t *has(json_t *object, json_t *key)
{
	if (!json_is_object(object) || !json_is_string(key))
		hand_on();
	return json_boolean(json_object_get(object, json_string_value(key)));
}

static json_t *apply(const struct node *node, json_t *in);

static json_t *one(const struct node *node, json_t *in)
{
	json_t *out = apply(node, in);

	if (json_array_size(out) != 1)
		hand_on();
	return json_array_get(out, 0);
}

static json_t *each_of(json_t *from)
{
	json_t *out = json_array();
	const char *name;
	json_t *value;

	if (json_is_array(from))
		return from;
	if (!json_is_object(from))
		hand_on();
	json_object_foreach (from, name, value)
		json_array_append(out, value);
	return out;
}

/* map() and any() are said by what jq says they are. */
static json_t *over_each(const struct node *node, json_t *in)
{
	json_t *list = each_of(in);
	json_t *results = json_array();
	json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		json_array_extend(results, apply(node->a, item));
	if (strcmp(node->name, "map") == 0)
		return results;
	json_array_foreach (results, i, item)
		if (is_true(item))
			return json_true();
	return json_false();
}

static json_t *call(const struct node *node, json_t *in)
{
	if (strcmp(node->name, "length") == 0)
		return length_of(in);
	if (strcmp(node->name, "keys") == 0)
		return keys_of(in);
	if (strcmp(node->name, "not") == 0)
		return json_boolean(!is_true(in));
	if (strcmp(node->name, "type") == 0)
		return type_of(in);
	if (strcmp(node->name, "has") == 0)
		return has(in, one(node->a, in));
	if (strcmp(node->name, "index") == 0)
		return index_of(in, one(node->a, in));
	return over_each(node, in);
}

static json_t *apply_to_each(const struct node *node, json_t *in)
{
	json_t *from = apply(node->a, in);
	json_t *out = json_array();
	json_t *item;
	size_t i;

	json_array_foreach (from, i, item) {
		if (node->kind == FIELD)
			json_array_append(out, field_of(item, node->value));
		else if (node->kind == ITEM)
			json_array_append(out, item_of(item, node->value));
		else if (node->kind == EACH)
			json_array_extend(out, each_of(item));
		else
			json_array_extend(out, apply(node->b, item));
	}
	return out;
}

/* All that the filter gives for one input, as a list. Nothing is freed: the process is short. */
static json_t *apply(const struct node *node, json_t *in)
{
	json_t *out = json_array();

	switch (node->kind) {
	case IDENTITY:
		json_array_append(out, in);
		return out;
	case LITERAL:
		json_array_append(out, node->value);
		return out;
	case ARRAY:
		json_array_append(out, node->a ? apply(node->a, in) : json_array());
		return out;
	case COMMA:
		json_array_extend(out, apply(node->a, in));
		json_array_extend(out, apply(node->b, in));
		return out;
	case BINARY:
		json_array_append(out, binary(node->name, one(node->a, in), one(node->b, in)));
		return out;
	case CALL:
		if (strcmp(node->name, "select") != 0)
			json_array_append(out, call(node, in));
		else if (is_true(one(node->a, in)))
			json_array_append(out, in);
		return out;
	case FIELD:
	case ITEM:
	case EACH:
	case PIPE:
		return apply_to_each(node, in);
	}
	hand_on();
}

/* ---- Input and output --------------------------------------------------------------------------
 */

static void print(FILE *out, const json_t *value)
{
	char *text;

	if (!is_written_alike(value) ||
		(!is_compact && (json_array_size(value) > 0 || json_object_size(value) > 0)))
		hand_on();
	if (is_raw && json_is_string(value)) {
		fprintf(out, "%s\n", json_string_value(value));
		return;
	}
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		hand_on();
	fprintf(out, "%s\n", text);
}

static char *read_all(int fd, size_t *ret_size)
{
	size_t size = 0;
	size_t room = 1 << 16;
	char *data = malloc(room);
	ssize_t n;

	while (data && (n = read(fd, data + size, room - size - 1)) > 0) {
		size += (size_t)n;
		if (room - size < 2)
			data = realloc(data, room *= 2);
	}
	if (!data || n < 0)
		hand_on();
	data[size] = '\0';
	*ret_size = size;
	return data;
}

/* Everything is worked out before a word is printed, so that it can still be handed on. */
static void filter_values(FILE *out, const struct node *filter, const char *data, size_t size)
{
	for (size_t i = 0;;) {
		json_error_t error;
		json_t *value;
		json_t *results;
		json_t *result;
		size_t n;

		while (i < size && strchr(" \t\r\n", data[i]))
			i++;
		if (i == size)
			return;
		value = json_loadb(
			data + i, size - i, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
		if (!value)
			hand_on();
		i += (size_t)error.position;
		results = apply(filter, value);
		json_array_foreach (results, n, result)
			print(out, result);
	}
}

static char *open_and_read(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* A pipe by name, of which nothing is left for another to read, is read by that other
	 * alone. */
	if (fd < 0 || lseek(fd, 0, SEEK_CUR) < 0)
		hand_on();
	return read_all(fd, ret_size);
}

int main(int argc, char **argv)
{
	struct node *filter;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int i = 1;

	arguments = argv;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strspn(argv[i] + 1, "rc") != strlen(argv[i] + 1) || !argv[i][1])
			hand_on();
		is_raw |= !!strchr(argv[i], 'r');
		is_compact |= !!strchr(argv[i], 'c');
	}
	if (!out || i == argc)
		hand_on();
	at = argv[i++];
	filter = read_pipe();
	skip_blanks();
	if (*at)
		hand_on();
	if (i == argc) {
		input = read_all(0, &input_size);
		filter_values(out, filter, input, input_size);
	}
	for (; i < argc; i++) {
		size_t length;
		char *data = open_and_read(argv[i], &length);

		filter_values(out, filter, data, length);
	}
	fclose(out);
	return fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0 ? 0 : 2;
}
