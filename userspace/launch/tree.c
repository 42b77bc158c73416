/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launch/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/call.h"
#include "launch/fd.h"

/* New processes appear while one pass runs; a fork bomb is the kill's task, not ours. */
#define RF_TREE_PASSES_MAX 16
/* 400 passes of 5 ms: two seconds. */
#define RF_TREE_KILL_PASSES_MAX 400
#define RF_TREE_KILL_PAUSE_NS 5000000L

static bool rf_tree_number(const char **text, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *p = *text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (p == *text)
		return false;
	*text = p;
	*ret_value = value;
	return true;
}

/* Fields 3 (state) to 22 (start time) of /proc/PID/stat: proc(5). The name may hold anything. */
static bool rf_process_parse(const char *stat, struct rf_process *process)
{
	const char *p = strrchr(stat, ')');
	uint64_t value;

	if (!p || p[1] != ' ' || !p[2])
		return false;
	process->state = p[2];
	p += 3;
	for (int field = 4; field <= 22; field++) {
		if (*p++ != ' ')
			return false;
		if (*p == '-')
			p++;
		if (!rf_tree_number(&p, &value))
			return false;
		if (field == 4)
			process->parent = (pid_t)value;
		else if (field == 5)
			process->group = (pid_t)value;
	}
	process->start_ticks = value;
	return true;
}

static int rf_process_read(pid_t pid, struct rf_process *ret_process)
{
	struct rf_process process = {.pid = pid};
	char path[64], stat[1024];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	stat[n] = 0;
	if (!rf_process_parse(stat, &process))
		return -EBADMSG;
	*ret_process = process;
	return 0;
}

void rf_tree_clear(struct rf_tree *tree)
{
	free(tree->items);
}

static int rf_tree_add(struct rf_tree *tree, const struct rf_process *process)
{
	if (tree->count == tree->room) {
		size_t room = tree->room ? tree->room * 2 : 64;
		struct rf_process *items = reallocarray(tree->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		tree->items = items;
		tree->room = room;
	}
	tree->items[tree->count++] = *process;
	return 0;
}

static void rf_tree_closedir_p(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

int rf_tree_scan(struct rf_tree *ret_tree)
{
	struct rf_tree tree rf_autotree = {0};
	DIR *directory rf_cleanup(rf_tree_closedir_p) = opendir("/proc");
	struct dirent *entry;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		const char *name = entry->d_name;
		struct rf_process process;
		uint64_t pid;

		if (!rf_tree_number(&name, &pid) || *name)
			continue;
		/* Gone between listing and reading: then it is none of ours any more. */
		if (rf_process_read((pid_t)pid, &process) < 0)
			continue;
		if (rf_tree_add(&tree, &process) < 0)
			return -ENOMEM;
	}
	*ret_tree = tree;
	tree = (struct rf_tree){0};
	return 0;
}

static bool rf_tree_is_chosen(const struct rf_tree *tree, pid_t pid)
{
	size_t low = 0, high = tree->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->items[middle].pid == pid)
			return tree->items[middle].is_chosen;
		if (tree->items[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

void rf_tree_choose(struct rf_tree *tree, pid_t self, bool is_whole)
{
	bool is_changed = true;

	for (size_t i = 0; is_whole && i < tree->count; i++)
		tree->items[i].is_chosen = tree->items[i].pid != self;
	/* Pids wrap, so a parent can stand behind its child: again until nothing is added. */
	while (!is_whole && is_changed) {
		is_changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct rf_process *process = &tree->items[i];

			if (process->is_chosen || process->pid == self)
				continue;
			if (process->parent != self && !rf_tree_is_chosen(tree, process->parent))
				continue;
			process->is_chosen = true;
			is_changed = true;
		}
	}
}

int rf_process_signal(const struct rf_process *process, int signal)
{
	int pidfd rf_autofd = pidfd_open(process->pid, 0);
	struct rf_process now = {0};

	if (pidfd < 0)
		return -errno;
	if (rf_process_read(process->pid, &now) < 0 || now.start_ticks != process->start_ticks ||
		now.group != process->group)
		return -ESRCH;
	return pidfd_send_signal(pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

static bool rf_tree_has(const struct rf_tree *tree, const struct rf_process *process)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].pid == process->pid &&
			tree->items[i].start_ticks == process->start_ticks)
			return true;
	return false;
}

void rf_tree_signal_all(pid_t self, bool is_whole, int signal)
{
	struct rf_tree done rf_autotree = {0};

	for (int pass = 0; pass < RF_TREE_PASSES_MAX; pass++) {
		struct rf_tree tree rf_autotree = {0};
		bool is_new = false;

		if (rf_tree_scan(&tree) < 0)
			return;
		rf_tree_choose(&tree, self, is_whole);
		for (size_t i = 0; i < tree.count; i++) {
			const struct rf_process *process = &tree.items[i];

			if (!process->is_chosen || !rf_process_is_alive(process) ||
				rf_tree_has(&done, process))
				continue;
			rf_process_signal(process, signal);
			if (rf_tree_add(&done, process) < 0)
				return;
			is_new = true;
		}
		if (!is_new)
			return;
	}
}

void rf_tree_signal_group(pid_t group, int signal)
{
	struct rf_tree tree rf_autotree = {0};

	if (rf_tree_scan(&tree) < 0)
		return;
	for (size_t i = 0; i < tree.count; i++)
		if (tree.items[i].group == group && rf_process_is_alive(&tree.items[i]))
			rf_process_signal(&tree.items[i], signal);
}

size_t rf_tree_count(pid_t self, bool is_whole, pid_t except)
{
	struct rf_tree tree rf_autotree = {0};
	size_t count = 0;

	if (rf_tree_scan(&tree) < 0)
		return 0;
	rf_tree_choose(&tree, self, is_whole);
	for (size_t i = 0; i < tree.count; i++)
		count += tree.items[i].is_chosen && tree.items[i].pid != except &&
			 rf_process_is_alive(&tree.items[i]);
	return count;
}

void rf_tree_kill_descendants(void)
{
	const struct timespec pause = {.tv_nsec = RF_TREE_KILL_PAUSE_NS};

	for (int pass = 0; pass < RF_TREE_KILL_PASSES_MAX; pass++) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		rf_tree_signal_all(getpid(), false, SIGKILL);
		nanosleep(&pause, NULL);
	}
}
