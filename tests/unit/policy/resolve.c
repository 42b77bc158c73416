/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/resolve.h"
#include "base/path.h"
#include "fixture.h"

struct place {
	struct fixture f;
	struct rf_origin origin;
	int fd;
};

static void clear_place(struct place *p)
{
	rf_origin_clear(&p->origin);
	rf_close(p->fd);
	fixture_clear(&p->f);
}

static void open_place(struct place *p)
{
	p->f = fixture_new();
	p->fd = open(p->f.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert(p->fd >= 0);
	p->origin = rf_origin(p->fd, p->f.workspace);
}

static void expect(struct place *p, const char *name, enum rf_found_kind kind, const char *path,
	size_t n_links)
{
	struct rf_found found rf_autofound = {0};
	char wanted[512];

	cr_assert(rf_resolve(&p->origin, name, &found) == 0, "%s", name);
	snprintf(wanted, sizeof(wanted), "%s%s%s", path[0] == '/' ? "" : p->f.workspace,
		path[0] && path[0] != '/' ? "/" : "", path);
	cr_expect(found.kind == kind, "%s: %d", name, found.kind);
	cr_expect_str_eq(found.path, wanted, "%s: %s", name, found.path);
	cr_expect(found.links.count == 2 * n_links, "%s: %zu", name, found.links.count);
}

Test(resolve, a3_names_resolve_as_the_kernel_would)
{
	struct place p rf_cleanup(clear_place) = {0};

	open_place(&p);
	make_directory(&p.f, "a/b");
	make_file(&p.f, "a/f");
	make_directory(&p.f, "o/deep");
	make_link(&p.f, "a/b", "l");
	make_link(&p.f, "../o/deep", "a/up");
	make_link(&p.f, "l", "ll");
	make_link(&p.f, "/etc", "etc");
	make_link(&p.f, "nowhere", "dangling");
	make_link(&p.f, "loop2", "loop1");
	make_link(&p.f, "loop1", "loop2");
	expect(&p, ".", RF_FOUND_EXISTING, "", 0);
	expect(&p, "a", RF_FOUND_EXISTING, "a", 0);
	expect(&p, "./a//b/", RF_FOUND_EXISTING, "a/b", 0);
	expect(&p, "a/f", RF_FOUND_EXISTING, "a/f", 0);
	expect(&p, "l", RF_FOUND_EXISTING, "a/b", 1);
	expect(&p, "ll", RF_FOUND_EXISTING, "a/b", 2);
	expect(&p, "a/up", RF_FOUND_EXISTING, "o/deep", 1);
	/* Not a/up folded away: the kernel goes to o. */
	expect(&p, "a/up/..", RF_FOUND_EXISTING, "o", 1);
	expect(&p, "a/../o", RF_FOUND_EXISTING, "o", 0);
	expect(&p, "etc/passwd", RF_FOUND_EXISTING, "/etc/passwd", 1);
	expect(&p, "/etc", RF_FOUND_EXISTING, "/etc", 0);
	expect(&p, "new/d", RF_FOUND_MISSING, "new/d", 0);
	expect(&p, "a/new", RF_FOUND_MISSING, "a/new", 0);
	expect(&p, "a/f/x", RF_FOUND_MISSING, "a/f/x", 0);
	expect(&p, "dangling", RF_FOUND_MISSING, "nowhere", 1);
	expect(&p, "l/x", RF_FOUND_MISSING, "a/b/x", 1);
	cr_assert(rf_has_parent_steps("a/..") && !rf_has_parent_steps("a/..b/c.."));
	{
		struct rf_found found rf_autofound = {0};

		cr_assert(rf_resolve(&p.origin, "loop1", &found) == 0);
		cr_assert(found.kind == RF_FOUND_CLOSED && found.error == ELOOP);
	}
}

Test(resolve, a5_what_was_found_is_what_is_opened)
{
	struct place p rf_cleanup(clear_place) = {0};
	struct rf_found found rf_autofound = {0};
	char path[256];
	char moved[256];
	int fd;

	open_place(&p);
	make_directory(&p.f, "a");
	make_directory(&p.f, "b");
	cr_assert(rf_resolve(&p.origin, "a", &found) == 0);
	fd = rf_open_found(p.fd, p.f.workspace, found.path, found.dev, found.ino);
	cr_assert(fd >= 0);
	rf_close(fd);
	/* Another directory, then a link, in its place. */
	snprintf(path, sizeof(path), "%s/b", p.f.workspace);
	snprintf(moved, sizeof(moved), "%s/b2", p.f.workspace);
	cr_assert(rename(found.path, moved) == 0);
	cr_assert(rename(path, found.path) == 0);
	cr_assert(rf_open_found(p.fd, p.f.workspace, found.path, found.dev, found.ino) == -ESTALE);
	cr_assert(rmdir(found.path) == 0);
	make_link(&p.f, "b2", "a");
	cr_assert(rf_open_found(p.fd, p.f.workspace, found.path, found.dev, found.ino) == -ESTALE);
	cr_assert(unlink(found.path) == 0);
	cr_assert(rf_open_found(p.fd, p.f.workspace, found.path, found.dev, found.ino) == -ESTALE);
}

Test(resolve, a5_no_component_may_be_a_link)
{
	struct place p rf_cleanup(clear_place) = {0};
	int fd;

	open_place(&p);
	make_directory(&p.f, "a/b");
	make_link(&p.f, "a", "l");
	fd = rf_open_no_links(p.fd, "a/b", O_DIRECTORY);
	cr_assert(fd >= 0);
	rf_close(fd);
	cr_assert(rf_open_no_links(p.fd, "l", 0) == -ELOOP);
	cr_assert(rf_open_no_links(p.fd, "l/b", 0) == -ELOOP);
	cr_assert(rf_open_no_links(p.fd, "c", 0) == -ENOENT);
}
