/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A plan that must come in time. A name on a server that is gone keeps whoever looks it up in the
 * kernel, where only the end of the process reaches him: so a thread looks, and is left behind.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/plan.h"

struct planning {
	struct rf_request request;
	struct rf_facts facts;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_ended;
	/* Of the thread until has_ended. */
	struct rf_plan *plan;
	struct rf_diag diag;
	int r;
};

static void *make(void *userdata)
{
	struct planning *planning = userdata;
	int r = rf_plan_make(
		&planning->request, &planning->facts, &planning->plan, &planning->diag);

	pthread_mutex_lock(&planning->lock);
	planning->r = r;
	planning->has_ended = true;
	pthread_cond_signal(&planning->ended);
	pthread_mutex_unlock(&planning->lock);
	return NULL;
}

static void free_planning(struct planning *planning)
{
	pthread_cond_destroy(&planning->ended);
	pthread_mutex_destroy(&planning->lock);
	free(planning);
}

static struct planning *new_planning(const struct rf_request *request, const struct rf_facts *facts)
{
	struct planning *planning = calloc(1, sizeof(*planning));
	pthread_condattr_t attributes;

	if (!planning)
		return NULL;
	planning->request = *request;
	planning->facts = *facts;
	pthread_mutex_init(&planning->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&planning->ended, &attributes);
	pthread_condattr_destroy(&attributes);
	return planning;
}

static bool wait_for(struct planning *planning, unsigned int deadline_ms)
{
	struct timespec until;
	bool has_ended;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += deadline_ms / 1000;
	pthread_mutex_lock(&planning->lock);
	while (!planning->has_ended && r == 0)
		r = pthread_cond_timedwait(&planning->ended, &planning->lock, &until);
	has_ended = planning->has_ended;
	pthread_mutex_unlock(&planning->lock);
	return has_ended;
}

static int refuse(const struct rf_request *request, unsigned int deadline_ms, struct rf_diag *diag)
{
	const char *path = request->looking_at ? *request->looking_at : NULL;
	int r = rf_diag_refuse(diag, "planning-deadline",
		"no plan within %u s: %.500s may be on a filesystem that does not answer",
		deadline_ms / 1000, path ? path : "a path");

	rf_diag_hint(diag, "see to its server, or unmount it");
	if (path)
		rf_diag_path(diag, path);
	return r;
}

int rf_plan_make_within(const struct rf_request *request, const struct rf_facts *facts,
	unsigned int deadline_ms, struct rf_plan **ret_plan, bool *ret_is_abandoned,
	struct rf_diag *diag)
{
	struct planning *planning = new_planning(request, facts);
	pthread_t thread;
	int r;

	if (!planning)
		return -ENOMEM;
	*ret_is_abandoned = false;
	r = pthread_create(&thread, NULL, make, planning);
	if (r) {
		free_planning(planning);
		return -r;
	}
	if (!wait_for(planning, deadline_ms)) {
		pthread_detach(thread);
		*ret_is_abandoned = true;
		return refuse(request, deadline_ms, diag);
	}
	pthread_join(thread, NULL);
	r = planning->r;
	if (r == 0)
		*ret_plan = planning->plan;
	else if (r == RF_REFUSED && diag)
		*diag = planning->diag;
	free_planning(planning);
	return r;
}
